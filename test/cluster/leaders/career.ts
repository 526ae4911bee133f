/**
 * The career of leaders over sidecars as processes, on whatever store and registry: the home, the gateway of the leader and the store are
 * killed, a leader hands over, one is cut off; a ledger outside judges. The scenarios are the same over all engines.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { crc32 } from 'node:zlib';
import { type ClusterInfo, connect, type GroupInfo, type Keyturn, type Leadership } from '@keyturn/client';
import { ServeProcess } from '../../cli/serve-process.js';
import { InnerSidecar } from '../../support/cluster/inner-sidecar.js';
import { type KilledStore, REGISTRIES, type RegistryName, STORES, type StoreName } from '../../support/killed-store.js';
import type { Cleanup } from '../../support/redis.js';
import { Balancer } from './balancer.js';
import { Office } from './office.js';

/** Long enough for a takeover on a machine that does much else: a leader that hears of nobody gives its term up by its own clock. */
const TTL = 30_000;
/** Of the leader that is cut off: somebody waits for its end. */
const SHORT_TTL = 4_000;
/** One of 1 s ends by itself on a machine that does much else. */
const SESSION = '3s';
const PARTITIONS = 4;
const KEPT = 'backup';
const CUT_OFF = 'nightly';

/** Asks again until it is so; a sidecar that is away meanwhile says nothing. */
async function until<T>(ask: () => Promise<T>, isSo: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const answer = await ask().catch(() => undefined);
    if (answer !== undefined && isSo(answer)) return answer;
    await once(AbortSignal.timeout(200), 'abort');
  }
}

interface Engines {
  readonly store: StoreName;
  readonly registry: RegistryName;
}

/** ms from what happened until it was seen that the same leader leads on, or the next one begins. */
export interface CareerTimes {
  readonly homeDied: number;
  readonly gatewayDied: number;
  readonly storeDied: number;
  readonly handedOver: number;
  readonly cutOff: number;
}

/** Two homes and two gateways, of which one dies and one is in the process of the test; three candidates, of which the one that leads reaches the cluster through a balancer. */
export class Career {
  readonly #office = new Office(KEPT, TTL);

  private constructor(
    private readonly cleanup: Cleanup,
    private readonly store: KilledStore,
    private readonly home: ServeProcess,
    private readonly near: ServeProcess,
    private readonly far: number,
    private readonly door: { readonly balancer: Balancer; readonly address: string },
  ) {}

  /** All scenarios, one after the other. Throws where a promise is broken. */
  static async run(cleanup: Cleanup, engines: Engines, say: (what: string) => void): Promise<CareerTimes> {
    const [store, registry] = await Promise.all([
      STORES[engines.store].start(cleanup),
      REGISTRIES[engines.registry].start(cleanup),
    ]);
    const options = ['--store', store.url, '--registry', registry, '--cluster-session', SESSION];
    const serve = (...more: string[]) =>
      ServeProcess.start(cleanup, [...options, '--cluster-partitions', String(PARTITIONS), ...more]);
    // Nobody kills these.
    const inner = async (weight: number): Promise<InnerSidecar> => {
      const cluster = `{ partitions: ${PARTITIONS}, session: ${SESSION}, weight: ${weight} }`;
      const settings = `store: ${store.url}\nregistry: ${registry}\ncluster: ${cluster}\n`;
      const made = await InnerSidecar.make(cleanup, settings);
      await made.start();
      return made;
    };
    const [home, near, far] = await Promise.all([
      // It gets all partitions, and the other one those of the dead.
      serve('--cluster-weight', '100'),
      serve('--cluster-weight', '0'),
      inner(0),
      inner(1),
    ]);
    const door = await Balancer.start(cleanup, portOf(await near.address('grpc')));
    const career = new Career(cleanup, store, home, near, portOf(far.address), door);
    return career.#run(say);
  }

  async #run(say: (what: string) => void): Promise<CareerTimes> {
    const others = this.#client(`127.0.0.1:${this.far}`);
    const office = this.#office;
    const first = office.lead(this.#client(this.door.address), 'first');
    await office.executing();
    const second = office.lead(others, 'second');
    const third = office.lead(others, 'third');
    this.cleanup.after(() => end([first, second, third]));
    const { term } = first;
    assert.equal((term ?? 0) % PARTITIONS, partitionOf(KEPT));

    await this.#isHome(others);
    this.home.signal('SIGKILL');
    await this.home.exited;
    const homeDied = await this.#stillLeads(others, first, term);
    say(`the home died: the leader's term is confirmed after ${homeDied} ms`);

    this.door.balancer.leadTo(this.far);
    this.near.signal('SIGKILL');
    await this.near.exited;
    const gatewayDied = await this.#stillLeads(others, first, term);
    say(`its gateway died: after ${gatewayDied} ms`);

    await this.store.kill();
    await this.store.start();
    const storeDied = await this.#stillLeads(others, first, term);
    say(`the store died and came back: after ${storeDied} ms`);

    const handedOver = await timed(async () => {
      const next = office.executing();
      await first.stop();
      await next;
    });
    say(`it handed over: the next one leads after ${handedOver} ms`);
    assert.deepEqual(office.inaugurated.slice(0, 1), ['first after nobody none ""']);
    assert.match(office.inaugurated[1] ?? '', /^(second|third) after first handed_over "left by first"$/);
    assert.equal(office.inaugurated.length, 2);
    assert.deepEqual(office.broken, []);

    const cutOff = await this.#cutOff(others);
    say(`one was cut off: the next one leads after ${cutOff} ms`);
    return { homeDied, gatewayDied, storeDied, handedOver, cutOff };
  }

  /**
   * From the claim on a term has its whole ttl; then signs of life of the leader count. So the second of two looks has seen one that came
   * after what happened.
   */
  async #stillLeads(asked: Keyturn, leader: Leadership, term: number | undefined): Promise<number> {
    const since = performance.now();
    let seen = await leads(asked, Date.now());
    const took = Math.round(performance.now() - since);
    seen = await leads(asked, Date.now());
    assert.deepEqual([seen.leader?.candidateId, seen.leader?.term, leader.term], ['first', term, term]);
    assert.deepEqual(this.#office.broken, []);
    return took;
  }

  /** A leader that reaches nobody gives up by its own clock; the next one has what was left before, and comes when the ttl is over. */
  async #cutOff(others: Keyturn): Promise<number> {
    const office = new Office(CUT_OFF, SHORT_TTL);
    const { balancer, address } = await Balancer.start(this.cleanup, this.far);
    const alone = office.lead(this.#client(address), 'alone');
    await office.executing();
    const next = office.lead(others, 'next');
    this.cleanup.after(() => end([alone, next]));
    const took = await timed(async () => {
      const executing = office.executing();
      balancer.cut();
      await executing;
    });
    assert.deepEqual(office.inaugurated, ['alone after nobody none ""', 'next after alone lost ""']);
    assert.deepEqual(office.broken, []);
    assert.ok(took > SHORT_TTL / 2, `nobody waited for the end of its ttl: ${took} ms`);
    return took;
  }

  #client(to: string): Keyturn {
    const client = connect(to);
    this.cleanup.after(() => client.close({ timeout: 0 }));
    return client;
  }

  /** Resolves when the process that is to die decides about the group. By its weight it mostly does, else it is told to. */
  async #isHome({ admin }: Keyturn): Promise<void> {
    const address = await this.home.address('grpc');
    await until(
      async () => {
        const cluster = await admin.getCluster();
        if (addressOf(cluster) === address) return true;
        const { id } = cluster.members.find((member) => member.address === address) ?? {};
        if (id !== undefined) await admin.movePartition(partitionOf(KEPT), id);
        return false;
      },
      (isIt) => isIt,
    );
  }
}

function addressOf({ homes, members }: Pick<ClusterInfo, 'homes' | 'members'>): string | undefined {
  const id = homes.find(({ partition }) => partition === partitionOf(KEPT))?.member;
  return members.find((member) => member.id === id)?.address;
}

function leads(asked: Keyturn, after: number): Promise<GroupInfo> {
  return until(
    () => asked.admin.getLeader(KEPT),
    ({ leader }) => leader !== undefined && leader.holdsUntil > after + TTL,
  );
}

async function end(all: readonly Leadership[]): Promise<void> {
  await Promise.all(all.map((one) => one.stop({ timeout: 0 })));
}

/** @returns ms */
async function timed(task: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await task();
  return Math.round(performance.now() - start);
}

function partitionOf(group: string): number {
  return crc32(group) % PARTITIONS;
}

function portOf(address: string): number {
  return Number(address.slice(address.lastIndexOf(':') + 1));
}
