/** A Prometheus of the test's own, that scrapes what it is told to and answers queries. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PROMETHEUS } from '../operating/prometheus-programs.js';
import { GuardedProcess } from '../support/guarded-process.js';
import { pathOf } from '../support/needed-program.js';
import type { Cleanup } from '../support/node-process.js';
import { list, record, string } from './dashboard-file.js';

/** It takes a second on an idle machine. */
const LONGEST_START_MS = 60_000;

export interface PrometheusOptions {
  readonly job: string;
  /** `host:port` each. */
  readonly targets: readonly string[];
  readonly scrapeInterval: string;
  /** Evaluated as often as is scraped. */
  readonly ruleFiles?: readonly string[];
}

/** One series of an answer: points of seconds and values. */
export interface Answer {
  readonly labels: Readonly<Record<string, string>>;
  readonly points: readonly (readonly [second: number, value: number])[];
}

export interface Span {
  /** Seconds since the Unix epoch. */
  readonly from: number;
  readonly to: number;
  /** Seconds. */
  readonly step: number;
}

export class Prometheus {
  private constructor(private readonly address: string) {}

  /** Ends with the test, also when the test is killed. */
  static async start(cleanup: Cleanup, options: PrometheusOptions): Promise<Prometheus> {
    const { job, targets, scrapeInterval, ruleFiles = [] } = options;
    const folder = await mkdtemp(join(tmpdir(), 'keyturn-prometheus-'));
    const config = join(folder, 'prometheus.yml');
    // JSON is YAML.
    const scrapes = [{ job_name: job, static_configs: [{ targets }] }];
    await writeFile(
      config,
      JSON.stringify({
        global: {
          scrape_interval: scrapeInterval,
          scrape_timeout: scrapeInterval,
          evaluation_interval: scrapeInterval,
        },
        rule_files: ruleFiles,
        scrape_configs: scrapes,
      }),
    );
    const address = `127.0.0.1:${await freePort()}`;
    const args = [`--config.file=${config}`, `--storage.tsdb.path=${join(folder, 'data')}`];
    const server = new GuardedProcess(pathOf(PROMETHEUS), [...args, `--web.listen-address=${address}`], process.env);
    cleanup.after(async () => {
      await server.kill();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    });
    await server.says(/Server is ready to receive web requests/, LONGEST_START_MS);
    return new Prometheus(address);
  }

  /** At this moment. @throws with what Prometheus says when it does not understand the query */
  async query(query: string, at: number): Promise<readonly Answer[]> {
    const data = record(await this.#ask('query', { query, time: String(at) }));
    if (data['resultType'] === 'scalar') return [{ labels: {}, points: [pointOf(data['result'])] }];
    return list(data['result']).map(({ metric, value }) => ({ labels: labelsOf(metric), points: [pointOf(value)] }));
  }

  async queryRange(query: string, { from, to, step }: Span): Promise<readonly Answer[]> {
    const span = { start: String(from), end: String(to), step: String(step) };
    const data = record(await this.#ask('query_range', { query, ...span }));
    return list(data['result']).map(({ metric, values }) => ({
      labels: labelsOf(metric),
      points: Array.isArray(values) ? values.map(pointOf) : [],
    }));
  }

  async labelValues(label: string, selector: string): Promise<readonly string[]> {
    const values = await this.#ask(`label/${label}/values`, { 'match[]': selector });
    return Array.isArray(values) ? values.map(String) : [];
  }

  /** The labels of every alert that fires now. */
  async firing(): Promise<readonly Readonly<Record<string, string>>[]> {
    const { alerts } = record(await this.#ask('alerts', {}));
    return list(alerts)
      .filter(({ state }) => state === 'firing')
      .map(({ labels }) => labelsOf(labels));
  }

  async #ask(what: string, question: Readonly<Record<string, string>>): Promise<unknown> {
    const response = await fetch(`http://${this.address}/api/v1/${what}?${new URLSearchParams(question)}`);
    const answer = record(await response.json());
    if (answer['status'] !== 'success') throw new Error(`${string(answer['error'])}: ${JSON.stringify(question)}`);
    return answer['data'];
  }
}

function labelsOf(metric: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(record(metric)).map(([name, value]) => [name, String(value)]));
}

function pointOf(pair: unknown): readonly [number, number] {
  const [second, value] = Array.isArray(pair) ? pair : [];
  return [Number(second), Number(String(value).replace('Inf', 'Infinity'))];
}

/** A port that nobody has now: the server does not tell which one it took. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a server on TCP has a port');
  await once(server.close(), 'close');
  return address.port;
}
