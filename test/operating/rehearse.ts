/**
 * `npm run alerts:rehearse`: brings the cause of each alert about, sees it fire and resolve, and prints when.
 *
 *     npm run alerts:rehearse
 *     npm run alerts:rehearse -- --factor 30 KeysParked DiskWillFill
 */
import { Command } from 'commander';
import { whyNoDevice } from '../crash/device.js';
import { find, pathOf } from '../support/needed-program.js';
import { CAUSES, type Cause } from './causes.js';
import { PROMETHEUS } from './prometheus-programs.js';
import { rehearseAlerts, type Trace } from './rehearsal.js';

/** From one try to the next at least 10 s have passed with the longest times of the rules. */
const FACTOR = 30;
const LIMIT_MS = 200_000;
const STRACE = { name: 'strace', install: 'Debian: apt-get install strace.' };

const command = new Command('npm run alerts:rehearse --')
  .description('Tries the alerts for real: their causes, a Prometheus, sidecars under load.')
  .argument('[alerts...]', 'only these')
  .option('--factor <number>', 'the times of the rules are divided by it', String(FACTOR))
  .parse();

const wanted = new Set(command.args);
const chosen = CAUSES.filter(({ alerts }) => wanted.size === 0 || alerts.some((alert) => wanted.has(alert)));
const factor = Number(command.opts<{ factor: string }>().factor);
const tasks: (() => Promise<void> | void)[] = [];
const cleanup = { after: (task: () => Promise<void> | void) => void tasks.push(task) };
const say = (line: string) => void process.stdout.write(`${line}\n`);

pathOf(PROMETHEUS);
const missing = chosen.flatMap((cause) => {
  const why = whyNot(cause);
  return why === undefined ? [] : [`${cause.alerts.join(', ')}: ${why}`];
});
if (missing.length > 0) {
  say(`not on this machine:\n${missing.join('\n')}`);
  process.exit(1);
}
say(`${chosen.flatMap(({ alerts }) => alerts).length} alerts, their times divided by ${factor}, all causes at once\n`);
const row = ({ alert, cause, fired, resolved }: Trace) =>
  say(`${alert.padEnd(18)} ${`${fired} s`.padStart(8)} ${`${resolved} s`.padStart(9)}  ${cause}`);
say(`${'alert'.padEnd(18)} ${'fired'.padStart(8)} ${'resolved'.padStart(9)}  cause`);
try {
  await rehearseAlerts(cleanup, { causes: chosen, factor, limit: LIMIT_MS, say: row });
  say('\nevery alert fired after its cause, and resolved after it was gone');
} catch (error) {
  say(`\n${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
for (const task of tasks.reverse()) await task();
process.exit();

function whyNot({ at, alerts }: Cause): string | undefined {
  if (at === 'full' || at === 'filling') return whyNoDevice();
  const strace = find(STRACE);
  return alerts.includes('JournalSlow') && 'missing' in strace ? strace.missing : undefined;
}
