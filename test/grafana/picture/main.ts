/**
 * `npm run dashboards:pictures`: draws the dashboards as they look after some minutes of load, into docs/pictures/. In
 * between there is an incident: nobody takes the work of one queue for a while.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connect } from '@keyturn/client';
import { ROOT } from '../../project/repository.js';
import { dashboardsOnDisk } from '../dashboard-file.js';
import { startRehearsal } from '../rehearsal.js';
import { drawDashboard } from './page.js';

const SCRAPE_INTERVAL = '2s';
const RATE_INTERVAL = '16s';
const POINTS = 60;
const BEFORE_MS = 60_000;
const INCIDENT_MS = 130_000;
const AFTER_MS = 50_000;

const cleanups: (() => Promise<void> | void)[] = [];
// Also when it is interrupted: no sidecar and no Prometheus is left behind.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
try {
  const { prometheus, began, plainGrpc } = await startRehearsal(
    { after: (task) => void cleanups.unshift(task) },
    SCRAPE_INTERVAL,
  );
  process.stdout.write(`load for ${(BEFORE_MS + INCIDENT_MS + AFTER_MS) / 60_000} minutes …\n`);
  const client = connect(plainGrpc);
  cleanups.unshift(() => client.close());
  await pause(BEFORE_MS);
  await client.submitMany(
    'invoices',
    Array.from({ length: 40 }, (_, n) => ({ key: `customer-${n % 9}` })),
  );
  await pause(INCIDENT_MS);
  client.consume('invoices', () => pause(400), { concurrency: 3 });
  await pause(AFTER_MS);
  const to = Date.now() / 1_000;
  const span = { from: began, to, step: (to - began) / POINTS };
  const values = { job: 'All', instance: 'All', queue: 'All' } as const;
  for (const dashboard of dashboardsOnDisk()) {
    const picture = await drawDashboard(dashboard, { prometheus, span, values, rateInterval: RATE_INTERVAL });
    const path = `docs/pictures/${dashboard.uid}.svg`;
    writeFileSync(join(ROOT, path), picture);
    process.stdout.write(`${path}: ${Math.round(picture.length / 1_024)} KiB\n`);
  }
} finally {
  for (const cleanup of cleanups) await cleanup();
}
