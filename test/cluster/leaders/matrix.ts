/**
 * `node dist/test/cluster/leaders/matrix.js [--store NAME] [--registry NAME]`: the career of leaders over each store and each registry, or
 * those that are named, one after the other; prints a table of times. 1 if a promise is broken, or a program is missing.
 */
import { parseArgs } from 'node:util';
import { REGISTRIES, registryNamed, STORES, storeNamed } from '../../support/killed-store.js';
import { find } from '../../support/needed-program.js';
import { Career, type CareerTimes } from './career.js';

const COLUMNS: Readonly<Record<keyof CareerTimes, string>> = {
  homeDied: 'home died',
  gatewayDied: 'gateway died',
  storeDied: 'store died',
  handedOver: 'handed over',
  cutOff: 'leader cut off',
};
const KEYS = ['homeDied', 'gatewayDied', 'storeDied', 'handedOver', 'cutOff'] as const;

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

const { values } = parseArgs({ options: { store: { type: 'string' }, registry: { type: 'string' } } });
const stores = values.store === undefined ? names(STORES) : [storeNamed(values.store)];
const registries = values.registry === undefined ? names(REGISTRIES) : [registryNamed(values.registry)];

function names<T extends object>(all: T): (keyof T)[] {
  const found: (keyof T)[] = [];
  for (const one in all) found.push(one);
  return found;
}

say(`| store | registry | ${KEYS.map((key) => COLUMNS[key]).join(' | ')} |`);
say(`|---|---|${KEYS.map(() => '---|').join('')}`);
for (const store of stores)
  for (const registry of registries) {
    const missing = [STORES[store].needs, ...REGISTRIES[registry].needs].map((one) => find(one));
    for (const one of missing) if ('missing' in one) throw new Error(one.missing);
    const tasks: (() => Promise<void> | void)[] = [];
    try {
      const times = await Career.run({ after: (task) => void tasks.unshift(task) }, { store, registry }, () => {});
      say(`| ${store} | ${registry} | ${KEYS.map((key) => `${(times[key] / 1_000).toFixed(1)} s`).join(' | ')} |`);
    } catch (error) {
      say(`| ${store} | ${registry} | BROKEN: ${error instanceof Error ? error.message : String(error)} |`);
      process.exitCode = 1;
    }
    for (const task of tasks) await task();
  }
process.exit();
