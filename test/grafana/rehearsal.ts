/**
 * Sidecars under a load that brings everything about, and a Prometheus that scrapes them: one with TLS and a data
 * directory, one with neither, and two that share their queues.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startLoad } from '../load/load.js';
import { loadSettings } from '../load/settings.js';
import { OperatedSidecar } from '../operating/sidecar.js';
import { writeCertificates } from '../support/certificate-files.js';
import type { Cleanup } from '../support/node-process.js';
import { Prometheus } from './prometheus.js';
import { RehearsedCluster } from './rehearsed-cluster.js';

const JOB = 'keyturn';

export interface Rehearsal {
  readonly prometheus: Prometheus;
  /** Their names as instances. */
  readonly full: string;
  readonly plain: string;
  /** Of the two that share their queues; calls come to the first. */
  readonly members: readonly [first: string, second: string];
  /** Where the plain one takes calls. */
  readonly plainGrpc: string;
  /** Seconds since the Unix epoch. */
  readonly began: number;
  /** A member of the cluster dies once more: a machine that is busy may have scraped too late to see the rate of one death. */
  loseOne(): Promise<void>;
}

export async function startRehearsal(cleanup: Cleanup, scrapeInterval: string): Promise<Rehearsal> {
  const folder = mkdtempSync(join(tmpdir(), 'keyturn-rehearsal-'));
  cleanup.after(() => rmSync(folder, { recursive: true, force: true }));
  const certificates = join(folder, 'certificates');
  await writeCertificates(certificates);
  const file = (name: string) => join(certificates, name);
  const [full, plain] = await Promise.all([
    startSidecar(cleanup, join(folder, 'full'), {
      ...loadSettings({ dataDir: join(folder, 'full', 'data') }),
      tls: { cert: file('server.pem'), key: file('server.key') },
    }),
    startSidecar(cleanup, join(folder, 'plain'), loadSettings()),
  ]);
  const cluster = await RehearsedCluster.start(cleanup, join(folder, 'cluster'));
  const loads = [
    startLoad(full.grpc, { tls: { ca: file('ca.pem') }, slower: 2 }),
    startLoad(plain.grpc, { slower: 4 }),
  ];
  cleanup.after(async () => {
    await Promise.all(loads.map((load) => load.stop()));
  });
  const began = Date.now() / 1_000;
  const members = cluster.instances;
  const targets = [full.http, plain.http, ...members];
  const prometheus = await Prometheus.start(cleanup, { job: JOB, targets, scrapeInterval });
  const loseOne = () => cluster.loseOne(prometheus);
  await loseOne();
  return { prometheus, full: full.http, plain: plain.http, members, plainGrpc: plain.grpc, began, loseOne };
}

async function startSidecar(
  cleanup: Cleanup,
  folder: string,
  settings: Readonly<Record<string, unknown>>,
): Promise<OperatedSidecar> {
  mkdirSync(folder, { recursive: true });
  const sidecar = await OperatedSidecar.start({ folder, settings });
  cleanup.after(() => sidecar.end());
  return sidecar;
}
