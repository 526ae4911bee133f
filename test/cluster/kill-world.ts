/**
 * A cluster on one store in which everything dies again and again: homes, the gateway, both, the store. Under it live the people of
 * the crash test, with their ledger outside. Each group of queues has its own partition, and its own people.
 */
import type { ClusterInfo, Keyturn } from '@keyturn/client';
import { type Cleanup, until } from '../cli/keyturn-process.js';
import { CrashingSidecar } from '../crash/crashing-sidecar.js';
import { impatientClient } from '../crash/impatient-client.js';
import { Ledger } from '../crash/ledger.js';
import { Operator } from '../crash/operator.js';
import { Person, type Stage } from '../crash/people.js';
import { Settling } from '../crash/settling.js';
import { isExpected } from '../crash/troubles.js';
import { Chance } from '../sim/random.js';
import { InnerSidecar } from '../support/cluster/inner-sidecar.js';
import { type KilledStore, REGISTRIES, type RegistryName, STORES, type StoreName } from '../support/killed-store.js';

export const KINDS = ['home', 'gateway', 'both', 'store', 'all', 'stop', 'move', 'freeze'] as const;
export type Kind = (typeof KINDS)[number];

const MAX_ATTEMPTS = 6;
const GROUPS = [
  ['orders', 'bills'],
  ['mails', 'calls'],
] as const;
const QUEUES = GROUPS.flat();
const SETTINGS = `
default:
  lease: 2s
  wait: 1s
  ticket_ttl: 1s
  result_ttl: 1h
  idempotency_ttl: 1h
  waiting_per_key: unlimited
  retry: { max_attempts: ${MAX_ATTEMPTS}, initial: 5ms, factor: 2, max: 100ms }
queues:
${GROUPS.map(([first, second]) => `  ${first}: { group: ${first} }\n  ${second}: { group: ${first}, on_dead_letter: park }\n`).join('')}`;
const TTL = 4_000;
/** People of the crash test keep one sidecar busy; here they wait for sessions to end most of the time. */
const SLOWER = 3;
/** Between two kills so many items are acked at least. */
const LEAST_ACKS = 20;
/** Until all have turns again after a kill, ms: a machine that does much else takes long. */
const LONGEST_PAUSE = 120_000;
const LONGEST_SETTLING = 120_000;

export interface Outcome {
  readonly violations: readonly string[];
  /** What happened last, and what the sidecars logged last. */
  readonly tail: readonly string[];
  readonly rounds: number;
  readonly accepted: number;
  readonly acked: number;
  readonly turns: number;
  readonly runs: number;
  readonly told: number;
}

export interface KillPlan {
  readonly seed: number;
  readonly store: StoreName;
  readonly registry: RegistryName;
  readonly kinds: readonly Kind[];
  /** How much happens between two of them at most. */
  readonly mostEvents: number;
  /** Told of each thing that is done. */
  readonly say: (what: string) => void;
}

type Sidecar = CrashingSidecar | InnerSidecar;
type Homes = readonly [Sidecar, Sidecar];

/** What a kind does something to. The others may live in the process of the test, which costs half of what a process costs. */
const VICTIMS: Readonly<Record<Kind, { readonly homes?: true; readonly gateway?: true }>> = {
  home: { homes: true },
  gateway: { gateway: true },
  both: { homes: true, gateway: true },
  store: {},
  all: { homes: true, gateway: true },
  stop: { homes: true },
  move: {},
  freeze: { homes: true },
};

export class KillWorld {
  readonly #ledger = new Ledger(MAX_ATTEMPTS, 'store away');
  readonly #stages: readonly Stage[];
  readonly #people: Person[] = [];
  readonly #chance: Chance;
  #rounds = 0;

  private constructor(
    private readonly plan: KillPlan,
    private readonly store: KilledStore,
    private readonly homes: Homes,
    private readonly gateway: Sidecar,
  ) {
    this.#chance = new Chance(plan.seed);
    this.#stages = GROUPS.map((queues) => {
      const keys = Array.from({ length: this.#chance.int(2, 5) }, (_, n) => `key-${n}`);
      return { ledger: this.#ledger, queues, keys, slower: SLOWER, isCalm: false };
    });
  }

  static async run(cleanup: Cleanup, plan: KillPlan): Promise<Outcome> {
    const [store, registry] = await Promise.all([
      STORES[plan.store].start(cleanup),
      REGISTRIES[plan.registry].start(cleanup),
    ]);
    const isVictim = (who: 'homes' | 'gateway') => plan.kinds.some((kind) => VICTIMS[kind][who] === true);
    const sidecar = (weight: number, isProcess: boolean): Promise<Sidecar> => {
      const cluster = `{ partitions: 16, session: 3s, weight: ${weight} }`;
      const settings = `${SETTINGS}store: ${store.url}\nregistry: ${registry}\ncluster: ${cluster}\n`;
      return isProcess ? CrashingSidecar.make(cleanup, { settings }) : InnerSidecar.make(cleanup, settings);
    };
    const homes: Homes = [await sidecar(1, isVictim('homes')), await sidecar(1, isVictim('homes'))];
    const gateway = await sidecar(0, isVictim('gateway'));
    // At once: so they share the partitions out from the beginning.
    await Promise.all([...homes, gateway].map((one) => one.start()));
    return new KillWorld(plan, store, homes, gateway).#run();
  }

  async #run(): Promise<Outcome> {
    const operators = this.#populate();
    await this.#all('the cluster gives turns');
    await this.#events();
    for (const kind of this.plan.kinds) {
      this.#rounds += 1;
      await this.#round(kind);
      if (this.#ledger.violations.length > 0) return this.#giveUp(operators);
    }
    for (const stage of this.#stages) stage.isCalm = true;
    await Promise.all(this.#people.map((person) => person.rest()));
    await Promise.all(operators.map((operator) => operator.end()));
    // What has no home is in no list.
    await this.#look();
    const settling = new Settling(
      this.#client('session', 'settler', this.gateway),
      this.#ledger,
      QUEUES,
      LONGEST_SETTLING,
    );
    await settling.settle();
    await Promise.all(this.#people.map((person) => person.end()));
    await settling.audit();
    for (const one of [this.gateway, ...this.homes]) await this.#stop(one);
    return this.#outcome();
  }

  /** Something is broken: nobody tries for longer, or whoever asked for the world would wait for them. */
  async #giveUp(operators: readonly Operator[]): Promise<Outcome> {
    const outcome = this.#outcome();
    for (const stage of this.#stages) stage.isCalm = true;
    await Promise.all([...this.#people.map((one) => one.vanish()), ...operators.map((one) => one.vanish())]);
    await this.#prober?.close({ timeout: 0 });
    return outcome;
  }

  /** @returns those who look after the queues, a person for each group */
  #populate(): readonly Operator[] {
    const [first, second] = this.homes;
    return this.#stages.map((stage) => {
      const name = (short: string): string => `${stage.queues[0]}-${short}`;
      const person = (transport: 'session' | 'unary', short: string, at: Sidecar): Person => {
        const made = new Person(name(short), this.#client(transport, name(short), at), this.#own(), stage);
        this.#people.push(made);
        return made;
      };
      person('session', 'a', this.gateway).submits().consumes().calls();
      person('session', 'b', first).submits().consumes().awaits();
      person('unary', 'c', this.gateway).submits().consumes().calls();
      person('session', 'd', second).submits().repeats().calls();
      return new Operator(this.#client('unary', name('operator'), this.gateway), this.#own(), stage);
    });
  }

  async #round(kind: Kind): Promise<void> {
    this.#ledger.account.note(`ROUND ${this.#rounds} ${kind}`);
    const begun = performance.now();
    const back = await this.#does(kind);
    const pause = await this.#all(`all give turns after ${kind}`);
    await back();
    await Promise.all([...this.homes, this.gateway].map((one) => one.untilServing()));
    const { acks, acceptances } = this.#ledger.items;
    const took = ((pause - begun) / 1_000).toFixed(1);
    this.plan.say(
      `round ${this.#rounds}: ${kind}; every group had a turn after ${took} s; so far ${acceptances} items accepted, ${acks} acked`,
    );
    await this.#events();
  }

  /** @returns what brings back what is still away when the others go on */
  async #does(kind: Kind): Promise<() => Promise<void>> {
    switch (kind) {
      case 'home': {
        const home = await this.#busiest();
        await home.kill();
        return () => home.begin();
      }
      case 'gateway': {
        const gateway = victim(this.gateway);
        await gateway.kill();
        await gateway.begin();
        return nothing;
      }
      case 'both': {
        const [home, gateway] = [await this.#busiest(), victim(this.gateway)];
        await Promise.all([home.kill(), gateway.kill()]);
        await gateway.begin();
        return () => home.begin();
      }
      case 'store':
        await this.store.kill();
        await this.store.start();
        return nothing;
      case 'all': {
        const all = [...this.homes, this.gateway].map(victim);
        await Promise.all([...all.map((one) => one.kill()), this.store.kill()]);
        await this.store.start();
        await Promise.all(all.map((one) => one.begin()));
        return nothing;
      }
      case 'stop': {
        const home = await this.#busiest();
        await this.#stop(home);
        return () => home.begin();
      }
      case 'move':
        await this.#move();
        return nothing;
      case 'freeze': {
        // It wakes when others have what it had, and has not heard of that.
        const home = await this.#busiest();
        process.kill(home.pid, 'SIGSTOP');
        return async () => void process.kill(home.pid, 'SIGCONT');
      }
    }
  }

  async #stop(sidecar: Sidecar): Promise<void> {
    const code = await sidecar.stop();
    if (code !== 0) this.#ledger.account.broken(`a sidecar that was told to end did so with ${code}`);
  }

  /** The home of most groups: a kill of one that has none shows nothing. */
  async #busiest(): Promise<CrashingSidecar> {
    const cluster = await this.#look();
    const groups = (sidecar: CrashingSidecar): number =>
      partitionsOf(cluster).filter((partition) => addressOf(cluster, partition) === sidecar.address).length;
    const [first, second] = [victim(this.homes[0]), victim(this.homes[1])];
    return groups(first) > groups(second) || (groups(first) === groups(second) && this.#chance.in100(50))
      ? first
      : second;
  }

  /** Each group to the other home. */
  async #move(): Promise<void> {
    const { admin } = this.#asking;
    const cluster = await this.#look();
    const moves = partitionsOf(cluster).map(async (partition) => {
      const to = cluster.members.find(({ address, weight }) => weight > 0 && address !== addressOf(cluster, partition));
      if (to === undefined)
        return this.#ledger.account.broken(`partition ${partition} cannot be moved: there is one member`);
      const { state, why } = await admin.movePartition(partition, to.id);
      if (state !== 'moved') this.#ledger.account.broken(`partition ${partition} was not moved: ${state} ${why}`);
    });
    await Promise.all(moves);
  }

  /** When every group has an open home, and there are two members. */
  async #look(): Promise<ClusterInfo> {
    const { admin } = this.#asking;
    let found: ClusterInfo | undefined;
    await until('every group has a home', async () => {
      const cluster = await admin.getCluster().catch((error: unknown) => {
        if (!isExpected(error)) throw error;
      });
      if (cluster === undefined) return false;
      found = cluster;
      const isLive = (address: string): boolean => cluster.members.some((one) => one.address === address);
      return (
        this.homes.every(({ address }) => isLive(address)) &&
        partitionsOf(cluster).every((partition) => cluster.homes[partition]?.state === 'open')
      );
    });
    if (found === undefined) throw new Error('nobody told of the cluster');
    return found;
  }

  /** Resolves when each group has given a turn at the gateway. @returns when that was */
  async #all(what: string): Promise<number> {
    const end = AbortSignal.timeout(LONGEST_PAUSE);
    await Promise.all(
      GROUPS.map(async ([queue]) => {
        for (;;) {
          try {
            return await this.#asking.withTurn(queue, 'probe', { signal: end }, async () => undefined);
          } catch (error) {
            if (end.aborted) return this.#ledger.account.broken(`${what}: ${queue} does not after ${LONGEST_PAUSE} ms`);
            if (!isExpected(error)) this.#ledger.account.broken(`${what}: ${String(error)}`);
          }
        }
      }),
    );
    return performance.now();
  }

  /** Until so much has happened that it is time for the next kill: now and then nearly at once. */
  async #events(): Promise<void> {
    const { account, items } = this.#ledger;
    const leastAcks = items.acks + LEAST_ACKS;
    const end =
      account.now + (this.#chance.in100(20) ? this.#chance.int(1, 30) : this.#chance.int(50, this.plan.mostEvents));
    await new Promise<void>((resolve) => {
      const stop = account.onEvent(() => {
        if (account.now < end || items.acks < leastAcks) return;
        stop();
        resolve();
      });
    });
  }

  #prober: Keyturn | undefined;

  get #asking(): Keyturn {
    this.#prober ??= this.#client('unary', 'prober', this.gateway);
    return this.#prober;
  }

  #client(transport: 'session' | 'unary', name: string, at: Sidecar): Keyturn {
    return impatientClient(at.address, { name, transport, ttl: TTL }, this.#ledger, this.#own());
  }

  #own(): Chance {
    return new Chance(this.#chance.int(0, 2 ** 31));
  }

  #outcome(): Outcome {
    const { account, items, turns } = this.#ledger;
    const logs = [...this.homes, this.gateway].flatMap(({ log }) => log.slice(-15));
    return {
      violations: account.violations,
      tail: [...account.tail, ...logs],
      rounds: this.#rounds,
      accepted: items.acceptances,
      acked: items.acks,
      turns: turns.turns,
      runs: turns.runs,
      told: turns.told,
    };
  }
}

async function nothing(): Promise<void> {}

function victim(sidecar: Sidecar): CrashingSidecar {
  if (sidecar instanceof InnerSidecar) throw new Error('it lives in the process of the test, which is not killed');
  return sidecar;
}

/** Those of the groups. */
function partitionsOf({ routes }: ClusterInfo): readonly number[] {
  return [...new Set(routes.flatMap(({ partitions }) => partitions))];
}

/** Where clients reach the home of a partition. */
function addressOf({ homes, members }: ClusterInfo, partition: number): string | undefined {
  return members.find(({ id }) => id === homes[partition]?.member)?.address;
}
