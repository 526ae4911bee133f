/**
 * The load by itself, for a sidecar of its own on the usual addresses, until it is interrupted:
 *
 *     npm run load
 *     node dist/test/load/main.js --data-dir /var/tmp/keyturn-load
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { OperatedSidecar } from '../operating/sidecar.js';
import { startLoad } from './load.js';
import { loadSettings } from './settings.js';

const { listen, httpListen, slower } = new Command('npm run load --')
  .description('Starts a sidecar and puts a modest load on it, for those who look at metrics, alerts and dashboards.')
  .option('--listen <address>', 'where the sidecar serves gRPC', '127.0.0.1:7420')
  .option('--http-listen <address>', 'where it serves /metrics', '127.0.0.1:7421')
  .option('--slower <times>', 'pauses are this many times as long', '1')
  .parse()
  .opts<{ listen: string; httpListen: string; slower: string }>();

const folder = mkdtempSync(join(tmpdir(), 'keyturn-load-'));
const sidecar = await OperatedSidecar.start({
  folder,
  settings: loadSettings({ dataDir: join(folder, 'data') }),
  listen,
  httpListen,
});
const load = startLoad(sidecar.grpc, { slower: Number(slower) });
process.stdout.write(
  `a sidecar under load: gRPC ${sidecar.grpc}, metrics http://${sidecar.http}/metrics. Ctrl-C ends it.\n`,
);
await new Promise((resolve) => {
  process.once('SIGINT', resolve);
  process.once('SIGTERM', resolve);
});
await load.stop();
await sidecar.end();
rmSync(folder, { recursive: true, force: true });
