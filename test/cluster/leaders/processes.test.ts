/** Leaders over sidecars as processes, on whatever store and registry: the home and the gateway of the leader are killed, and a ledger outside judges. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect as connectTo, createServer, type Socket } from 'node:net';
import { env } from 'node:process';
import { type TestContext, test } from 'node:test';
import { crc32 } from 'node:zlib';
import { connect, type Keyturn, type Leadership } from '@keyturn/client';
import { ServeProcess } from '../../cli/serve-process.js';
import { REGISTRIES, registryNamed, STORES, storeNamed } from '../../support/killed-store.js';
import { needs } from '../../support/needed-program.js';

const GROUP = 'backup';
const TTL = 8_000;
const PARTITIONS = 4;

/** In front of the gateways, as a service of Kubernetes: a connection goes to whichever lives. */
class Balancer {
  target = 0;
  readonly #sockets = new Set<Socket>();

  static async start(t: TestContext, target: number): Promise<{ balancer: Balancer; address: string }> {
    const balancer = new Balancer();
    balancer.target = target;
    const server = createServer((from) => balancer.#carry(from));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => {
      server.close();
      for (const socket of balancer.#sockets) socket.destroy();
    });
    // A server that listens on a port has such an address.
    const { port } = server.address() as AddressInfo;
    return { balancer, address: `127.0.0.1:${port}` };
  }

  #carry(from: Socket): void {
    const to = connectTo(this.target, '127.0.0.1');
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      this.#sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  }
}

/** Writes down who works, and sees two at once and terms that do not grow. */
class Office {
  readonly broken: string[] = [];
  /** What each was given, in order. */
  readonly inaugurated: string[] = [];
  #holder: { readonly name: string; readonly lost: AbortSignal; isOver: boolean } | undefined;
  #term = 0;
  #listeners: (() => void)[] = [];

  lead(keyturn: Keyturn, name: string): Leadership {
    return keyturn.lead(
      GROUP,
      {
        inaugurate: (term, { candidateId, how, state }, signal) => {
          const before = this.#holder;
          if (before !== undefined && !before.isOver && !before.lost.aborted)
            this.broken.push(`${name} is inaugurated while ${before.name} leads`);
          if (term <= this.#term) this.broken.push(`${name} has the term ${term}, after ${this.#term}`);
          this.#term = term;
          this.#holder = { name, lost: signal, isOver: false };
          this.inaugurated.push(`${name} after ${candidateId || 'nobody'} ${how} "${Buffer.from(state).toString()}"`);
        },
        execute: async (_term, signal) => {
          this.#tell();
          if (!signal.aborted) await once(signal, 'abort');
        },
        handOver: () => {
          if (this.#holder !== undefined) this.#holder.isOver = true;
          return `left by ${name}`;
        },
      },
      { candidateId: name, ttl: TTL },
    );
  }

  /** Until somebody executes. */
  executing(): Promise<void> {
    return new Promise((resolve) => this.#listeners.push(resolve));
  }

  #tell(): void {
    for (const listener of this.#listeners.splice(0)) listener();
  }
}

/** Asks again until it is so; a sidecar that is away meanwhile says nothing. */
async function until<T>(ask: () => Promise<T>, isSo: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const answer = await ask().catch(() => undefined);
    if (answer !== undefined && isSo(answer)) return answer;
    await once(AbortSignal.timeout(50), 'abort');
  }
}

/** Others by hand: `KEYTURN_ENGINES=postgres,zookeeper node --test dist/test/cluster/leaders/processes.test.js`. */
const [storeName = 'redis', registryName = 'store'] = (env['KEYTURN_ENGINES'] ?? 'redis').split(',');
const [store, registry] = [STORES[storeNamed(storeName)], REGISTRIES[registryNamed(registryName)]];
const wanted = needs([store.needs, ...registry.needs]);

test(
  `S398: a leader keeps its term over the death of the home and of its gateway (${storeName}, ${registryName})`,
  wanted,
  async (t) => {
    const { url } = await store.start(t);
    const engines = ['--store', url, '--registry', await registry.start(t)];
    const options = [...engines, '--cluster-session', '1s', '--cluster-partitions', String(PARTITIONS)];
    const serve = (...more: string[]) => ServeProcess.start(t, [...options, ...more]);
    const homes = [await serve(), await serve()];
    const gateways = [await serve('--cluster-weight', '0'), await serve('--cluster-weight', '0')] as const;
    const [near, far] = [await gateways[0].address('grpc'), await gateways[1].address('grpc')];
    const { balancer, address } = await Balancer.start(t, portOf(near));
    const clientOf = (to: string) => {
      const client = connect(to);
      t.after(() => client.close({ timeout: 0 }));
      return client;
    };
    const others = clientOf(far);
    const office = new Office();
    const first = office.lead(clientOf(address), 'first');
    await office.executing();
    const second = office.lead(others, 'second');
    const third = office.lead(others, 'third');
    t.after(() => Promise.all([first, second, third].map((one) => one.stop({ timeout: 0 }))));
    const { term } = first;
    assert.equal((term ?? 0) % PARTITIONS, crc32(GROUP) % PARTITIONS);

    const leads = (after: number) =>
      until(
        () => others.admin.getLeader(GROUP),
        ({ leader }) => leader !== undefined && leader.holdsUntil > after + TTL,
      );
    const home = await homeOf(others, homes);
    home.signal('SIGKILL');
    await home.exited;
    // From the claim on it has its whole ttl; then its own signs of life count there.
    let seen = await leads(Date.now());
    seen = await leads(Date.now());
    assert.deepEqual([seen.leader?.candidateId, seen.leader?.term, first.term], ['first', term, term]);

    balancer.target = portOf(far);
    gateways[0].signal('SIGKILL');
    await gateways[0].exited;
    seen = await leads(Date.now());
    assert.deepEqual([seen.leader?.candidateId, seen.leader?.term, first.term], ['first', term, term]);

    const next = office.executing();
    await first.stop();
    await next;
    assert.deepEqual(office.inaugurated.slice(0, 1), ['first after nobody none ""']);
    assert.match(office.inaugurated[1] ?? '', /^(second|third) after first handed_over "left by first"$/);
    assert.deepEqual(office.broken, []);
  },
);

function portOf(address: string): number {
  return Number(address.slice(address.lastIndexOf(':') + 1));
}

/** The process that decides about the group. */
async function homeOf(keyturn: Keyturn, all: readonly ServeProcess[]): Promise<ServeProcess> {
  const { homes, members } = await keyturn.admin.getCluster();
  const id = homes.find(({ partition }) => partition === crc32(GROUP) % PARTITIONS)?.member;
  const address = members.find((member) => member.id === id)?.address;
  for (const one of all) if ((await one.address('grpc')) === address) return one;
  throw new Error(`nobody is at ${address}`);
}
