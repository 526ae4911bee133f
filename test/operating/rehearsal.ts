/** Alerts tried for real: a Prometheus with the rules, sidecars under load, and what brings each alert about. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Cleanup } from '../cli/keyturn-process.js';
import { Prometheus } from '../grafana/prometheus.js';
import { AlertWatch } from './alert-watch.js';
import type { Cause } from './causes.js';
import { RehearsedSidecars } from './rehearsed-sidecars.js';
import { RULE_FILES } from './rule-files.js';
import { shortened } from './shortened.js';

export interface Trace {
  readonly alert: string;
  readonly cause: string;
  /** Seconds after the cause was there. */
  readonly fired: number;
  /** Seconds after it was taken away. */
  readonly resolved: number;
}

export interface RehearsalOptions {
  readonly causes: readonly Cause[];
  /** The times of the rules are divided by it. */
  readonly factor: number;
  /** ms that an alert may take to fire, and to resolve. */
  readonly limit: number;
  readonly say?: (trace: Trace) => void;
}

/** All causes at once. @throws when an alert fires without its cause, does not fire, or does not resolve */
export async function rehearseAlerts(cleanup: Cleanup, options: RehearsalOptions): Promise<readonly Trace[]> {
  const folder = mkdtempSync(join(tmpdir(), 'keyturn-alerts-'));
  cleanup.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const sidecars = new RehearsedSidecars(folder, cleanup);
  await Promise.all(options.causes.map(({ at }) => sidecars.get(at)));
  const ruleFiles = RULE_FILES.map((path) => {
    const file = join(folder, basename(path));
    writeFileSync(file, shortened(readFileSync(path, 'utf8'), options.factor));
    return file;
  });
  const targets = (await sidecars.all()).map(({ sidecar }) => sidecar.http);
  const prometheus = await Prometheus.start(cleanup, { job: 'keyturn', targets, scrapeInterval: '1s', ruleFiles });
  const watch = new AlertWatch(prometheus);
  try {
    const traces = await Promise.all(options.causes.map((cause) => rehearse(cause, sidecars, watch, cleanup, options)));
    return traces.flat();
  } finally {
    await watch.stop();
  }
}

async function rehearse(
  cause: Cause,
  sidecars: RehearsedSidecars,
  watch: AlertWatch,
  cleanup: Cleanup,
  { limit, say }: RehearsalOptions,
): Promise<readonly Trace[]> {
  const at = await sidecars.get(cause.at);
  const instance = at.sidecar.http;
  const wanted = cause.alerts.map((alertname) => ({ alertname, instance, ...cause.labels }));
  for (const one of wanted) if (watch.isFiring(one)) throw new Error(`${one.alertname} fires before its cause`);
  const takeAway = await cause.bring(at);
  let removed: Promise<unknown> | undefined;
  const remove = async () => {
    removed ??= takeAway();
    await removed;
  };
  // Also when it was in vain: nothing may go on for ever.
  cleanup.after(remove);
  const fired = await times(wanted.map((one) => watch.until(one, true, limit)));
  await remove();
  const resolved = await times(wanted.map((one) => watch.until(one, false, limit)));
  return cause.alerts.map((alert, index) => {
    const trace = { alert, cause: cause.what, fired: fired[index] ?? 0, resolved: resolved[index] ?? 0 };
    say?.(trace);
    return trace;
  });
}

/** Seconds from now until each. */
function times(awaited: readonly Promise<void>[]): Promise<readonly number[]> {
  const begun = performance.now();
  return Promise.all(
    awaited.map(async (one) => {
      await one;
      return Math.round((performance.now() - begun) / 100) / 10;
    }),
  );
}
