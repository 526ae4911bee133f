/** The tables of docs/SCALING.md. The same costs give the same words. */
import { type Load, type Shape, Simulated } from './cluster.js';
import { type Costs, MEASURED } from './costs.js';

const SPREADS = [1, 4, 8, 16, 64] as const;
const HOMES = [1, 2, 4, 8, 16, 64] as const;
const SIDECARS = [10, 100, 1_000] as const;
const PARTITIONS = 64;
/** Workers, each with a gateway beside it: enough, so that these are not what gives first. */
const WORKERS = 64;
/** Operations that all workers together have open. */
const OPEN = 2_048;
const KEYS = 1e9;
/** What is busy for so much of the time is full. */
const FULL = 0.85;

const BASE = {
  partitions: PARTITIONS,
  keys: KEYS,
  cores: undefined,
  evenly: false,
} as const satisfies Partial<Shape>;

/** What is busiest. Where nothing is full, operations wait for the batches before them: one of a partition is under way at a time. */
function gives({ home, gateway, store, registry, link }: Load): string {
  const shares = Object.entries({ home, store: Math.max(0, store - registry), registry, gateway, network: link });
  const [first = 'home'] = shares.reduce((most, one) => (one[1] > most[1] ? one : most));
  return Math.max(home, gateway, store, registry, link) < FULL ? 'waits' : first;
}

/** One queue over so many homes, by its spread; members are listed elsewhere. */
function hotQueue(costs: Costs): string {
  const lines = HOMES.map((homes) => {
    const cells = SPREADS.map((spread) => {
      const shape = { ...BASE, homes, spread, gateways: WORKERS, inFlight: OPEN / WORKERS, registryInStore: false };
      const load = new Simulated(costs, shape).run();
      return `${figure(load.rate)} ${gives(load)}`;
    });
    return [homes, ...cells];
  });
  return table(['homes', ...SPREADS.map((spread) => `spread ${spread}`)], lines);
}

/** So many sidecars as members, or 64 of them at most, and the others as gateways; all of the load in one queue with spread 64. */
function sidecars(costs: Costs): string {
  const lines = SIDECARS.flatMap((count) =>
    (['store', 'etcd'] as const).flatMap((registry) =>
      [...new Set([count, Math.min(count, PARTITIONS)])].map((homes) => {
        const gateways = Math.max(WORKERS, count - homes);
        const shape = { ...BASE, homes, gateways, inFlight: Math.ceil(OPEN / gateways), spread: 64 };
        const load = new Simulated(costs, { ...shape, registryInStore: registry === 'store' }).run();
        const form = homes === count ? 'all of them members' : `${homes} members, ${count - homes} gateways`;
        const shares = [load.home, Math.max(0, load.store - load.registry), load.registry, load.gateway, load.link];
        return [count.toLocaleString('en-US'), form, registry, figure(load.rate), ...shares.map(percent), gives(load)];
      }),
    ),
  );
  const shares = ['busiest home', 'store', 'store, for the registry', 'busiest gateway', 'network of the store'];
  return table(['sidecars', 'form', 'registry', 'pairs/s', ...shares, 'gives first'], lines);
}

export function tables(costs: Costs = MEASURED): { readonly hotQueue: string; readonly sidecars: string } {
  return { hotQueue: hotQueue(costs), sidecars: sidecars(costs) };
}

function table(heads: readonly (string | number)[], lines: readonly (readonly (string | number)[])[]): string {
  return [heads, heads.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Two digits: more would say more than is known. */
function figure(value: number): string {
  return Number(value.toPrecision(2)).toLocaleString('en-US');
}

function percent(share: number): string {
  return `${Math.round(100 * share).toLocaleString('en-US')} %`;
}
