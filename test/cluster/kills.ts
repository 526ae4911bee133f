/**
 * `node dist/test/cluster/kills.js [ROUNDS] [--store NAME] [--registry NAME] [--kind home|gateway|both|store|all|stop|move|freeze|any] [--seed N]`: a store, two homes and a
 * gateway on this machine, people who work, and as many kills. A ledger outside judges. It ends by itself; 1 if something is broken.
 */
import { parseArgs } from 'node:util';
import { Chance } from '../sim/random.js';
import { REGISTRIES, registryNamed, STORES, storeNamed } from '../support/killed-store.js';
import { find } from '../support/needed-program.js';
import { KINDS, KillWorld, type Kind } from './kill-world.js';

/** Each of the four that are promised comes more often than the others. */
const ANY: readonly Kind[] = ['home', 'gateway', 'both', 'store', 'home', 'store', 'all', 'stop', 'move', 'freeze'];
/** A kill takes seconds; on a machine that does much else more. */
const LONGEST_ROUND_MS = 180_000;
const MOST_EVENTS = 1_500;

function say(text: string): void {
  process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);
}

function kindsOf(said: string, rounds: number, chance: Chance): readonly Kind[] {
  const one = KINDS.find((kind) => kind === said);
  if (one === undefined && said !== 'any') throw new Error(`--kind is ${said}; allowed: ${KINDS.join(', ')}, any`);
  const [first = 'home', ...others] = ANY;
  return Array.from({ length: rounds }, () => one ?? chance.of(first, ...others));
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    kind: { type: 'string', default: 'any' },
    store: { type: 'string', default: 'redis' },
    registry: { type: 'string', default: 'store' },
    seed: { type: 'string' },
  },
});
const rounds = Number(positionals[0] ?? 20);
const seed = Number(values.seed ?? Math.floor(Math.random() * 1e6));
const store = storeNamed(values.store);
const registry = registryNamed(values.registry);
for (const program of [STORES[store].needs, ...REGISTRIES[registry].needs]) {
  const found = find(program);
  if ('missing' in found) throw new Error(found.missing);
}
if (!Number.isSafeInteger(rounds) || rounds < 1)
  throw new Error(`ROUNDS is ${positionals[0]}: a number from 1 on is allowed`);
const kinds = kindsOf(values.kind, rounds, new Chance(seed));
say(`seed ${seed}: ${kinds.join(' ')}`);

const tasks: (() => Promise<void> | void)[] = [];
const tooLong = setTimeout(() => {
  say('it takes too long: it is given up');
  void end().finally(() => process.exit(1));
}, rounds * LONGEST_ROUND_MS);

async function end(): Promise<void> {
  for (const task of tasks.splice(0)) await task();
}

try {
  const after = (task: () => Promise<void> | void) => void tasks.unshift(task);
  const { violations, tail, accepted, acked, turns, runs, told, ...done } = await KillWorld.run(
    { after },
    { seed, store, registry, kinds, mostEvents: MOST_EVENTS, say },
  );
  if (violations.length > 0) {
    say(
      `BROKEN after ${done.rounds} rounds, seed ${seed}:\n${violations.slice(0, 20).join('\n')}\n…\n${tail.join('\n')}`,
    );
    process.exitCode = 1;
  }
  say(
    `${done.rounds} rounds: ${accepted} items accepted, ${acked} acked, ${turns} turns, ${runs} runs of handlers, ${told} told to stop; ${violations.length} broken promises`,
  );
} finally {
  clearTimeout(tooLong);
  await end();
}
// Clients of a world that was found broken are not closed.
process.exit();
