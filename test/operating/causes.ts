/** What brings each alert about, truly, and what takes it away again. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { KeyturnError } from '@keyturn/client';
import type { Labels } from './alert-watch.js';
import { FAILING_KEY } from './failing-inside.js';
import { FOUR_HOURS, type Rehearsed, type SidecarName } from './rehearsed-sidecars.js';

export interface Cause {
  /** They fire of it, all. */
  readonly alerts: readonly string[];
  /** For people. */
  readonly what: string;
  readonly at: SidecarName;
  /** Labels of the alerts, besides name and instance. */
  readonly labels?: Labels;
  /** Part of the short form: needs nothing of the system, and is over soon. */
  readonly isShort: boolean;
  /** @returns what takes it away */
  bring(at: Rehearsed): Promise<() => Promise<unknown>>;
}

const WEEK = 7 * 86_400_000;

export const CAUSES: readonly Cause[] = [
  {
    alerts: ['KeyturnDown'],
    what: 'the sidecar is killed; then started again',
    at: 'gone',
    isShort: true,
    async bring({ sidecar }) {
      await sidecar.kill();
      return () => sidecar.startAgain();
    },
  },
  {
    alerts: ['ReadyWorkNotTaken'],
    what: 'an item that no worker takes; then one does',
    at: 'busy',
    labels: { queue: 'stuck' },
    isShort: true,
    async bring({ client }) {
      await client.submit({ queue: 'stuck', items: [{ key: 'customer-7' }] });
      return async () => {
        const { deliveries } = await client.acquire({ queues: ['stuck'] });
        for (const { turn } of deliveries) await client.ack({ ...turn });
      };
    },
  },
  {
    alerts: ['KeysParked', 'DeadLetters'],
    what: 'a poisoned item parks its key; then it is discarded and the key resumed',
    at: 'busy',
    labels: { queue: 'poisoned' },
    isShort: true,
    async bring({ client }) {
      await client.submit({ queue: 'poisoned', items: [{ key: 'customer-7' }] });
      const { deliveries } = await client.acquire({ queues: ['poisoned'] });
      for (const { turn } of deliveries) await client.nack({ ...turn, kind: 'dead_letter', error: 'poisoned' });
      return async () => {
        await client.admin.discard({ queue: 'poisoned' }, false);
        await client.admin.resumeKey('poisoned', 'customer-7');
      };
    },
  },
  {
    alerts: ['GroupWithoutLeader'],
    what: 'a worker stands whose inauguration fails; then it stands no more',
    at: 'busy',
    labels: { group: 'headless' },
    isShort: true,
    async bring({ client }) {
      const inaugurate = () => Promise.reject(new Error('no database'));
      const leadership = client.lead('headless', { inaugurate, execute: () => undefined });
      return () => leadership.stop();
    },
  },
  {
    alerts: ['PartitionWithoutHome'],
    what: 'the only home of a cluster is killed; then started again',
    at: 'gateway',
    isShort: true,
    async bring({ home }) {
      await home?.kill();
      return async () => home?.startAgain();
    },
  },
  {
    alerts: ['StoreFellBack'],
    what: 'Redis is killed, and comes back as it was before the last writes, again and again; then it lives',
    at: 'home',
    isShort: true,
    async bring({ client, redis }) {
      const submit = () => client.submit({ queue: 'orders', items: [{ key: 'customer-7' }] }, { timeout: 30_000 });
      return again(4_000, async () => {
        await submit();
        await redis?.save();
        await submit();
        await redis?.crash();
      });
    },
  },
  {
    alerts: ['FollowUpsHeldUp'],
    what: 'an Ack has a follow-up to a queue of another group that is full; then a worker takes what is there',
    at: 'holding',
    isShort: true,
    async bring({ client }) {
      await client.submit({ queue: 'narrow', items: [{ key: 'customer-7' }] });
      await client.submit({ queue: 'orders', items: [{ key: 'customer-7' }] });
      const { deliveries } = await client.acquire({ queues: ['orders'] });
      const followUps = [{ queue: 'narrow', item: { key: 'customer-7' } }];
      for (const { turn } of deliveries) await client.ack({ ...turn, followUps });
      return async () => {
        const taken = await client.acquire({ queues: ['narrow'] });
        for (const { turn } of taken.deliveries) await client.ack({ ...turn });
      };
    },
  },
  {
    alerts: ['MembersFlap'],
    what: 'another home is killed and started again, again and again; then it lives',
    at: 'flapped',
    isShort: false,
    async bring({ home }) {
      return again(1_500, async () => {
        await home?.kill();
        // Longer than its session: it was gone, to everybody.
        await new Promise((resolve) => setTimeout(resolve, 2_000));
        await home?.startAgain();
      });
    },
  },
  {
    alerts: ['Refusing'],
    what: 'more is submitted than the queue holds; then no more',
    at: 'busy',
    labels: { queue: 'narrow', reason: 'queue_full' },
    isShort: true,
    async bring({ client }) {
      return again(200, () => client.submit({ queue: 'narrow', items: [{ key: 'a' }] }));
    },
  },
  {
    alerts: ['LeasesExpire'],
    what: 'a worker dies with every turn that it takes; then none takes any',
    at: 'busy',
    labels: { queue: 'dying' },
    isShort: false,
    async bring({ client }) {
      await client.submit({ queue: 'dying', items: [{ key: 'customer-7' }] });
      return again(300, () => client.acquire({ queues: ['dying'] }));
    },
  },
  {
    alerts: ['StaleTokens'],
    what: 'a worker ends turns that are not its own; then it stops',
    at: 'busy',
    labels: { queue: 'stale' },
    isShort: false,
    async bring({ client }) {
      return again(300, () => client.ack({ queue: 'stale', key: 'customer-7', token: 1 }));
    },
  },
  {
    alerts: ['InternalErrors'],
    what: 'calls fail inside the sidecar; then none does',
    at: 'tls',
    isShort: true,
    async bring({ client }) {
      return again(300, () => client.admin.explainKey('stuck', FAILING_KEY));
    },
  },
  {
    alerts: ['CertificateEnds'],
    what: 'the certificate has four hours of its 28 left; then it is replaced',
    at: 'tls',
    isShort: true,
    async bring({ certificates }) {
      await certificates?.replace(FOUR_HOURS);
      return async () => certificates?.replace(WEEK);
    },
  },
  {
    alerts: ['EventLoopBlocked'],
    what: 'the process stands still for 150 ms, twice a second; then it runs',
    at: 'frozen',
    isShort: false,
    async bring({ sidecar }) {
      const timer = setInterval(() => {
        sidecar.signal('SIGSTOP');
        setTimeout(() => sidecar.signal('SIGCONT'), 150);
      }, 500);
      return async () => {
        clearInterval(timer);
        sidecar.signal('SIGCONT');
      };
    },
  },
  {
    alerts: ['JournalSlow'],
    what: 'every flush takes 400 ms longer (strace); then it does not',
    at: 'busy',
    isShort: false,
    async bring({ sidecar }) {
      const calls = 'fdatasync,fsync,msync';
      const words = ['-f', '-qq', '-o', '/dev/null', '-p', String(sidecar.pid)];
      const slower = ['-e', `trace=${calls}`, '-e', `inject=${calls}:delay_enter=400000`];
      const strace = spawn('strace', [...words, ...slower], { stdio: 'ignore' });
      return () => ended(strace);
    },
  },
  {
    alerts: ['JournalFailing', 'NotReady'],
    what: 'the device is full; then it has room',
    at: 'full',
    isShort: false,
    async bring({ device, client }) {
      device?.fill();
      const stop = again(500, () =>
        client.submit({ queue: 'orders', items: [{ key: 'a', payload: Buffer.alloc(100_000) }] }),
      );
      return async () => {
        await (await stop)();
        device?.free();
      };
    },
  },
  {
    alerts: ['DiskWillFill'],
    what: 'something else fills the device slowly; then that is removed',
    at: 'filling',
    isShort: false,
    async bring({ device }) {
      const timer = setInterval(() => device?.take(100_000), 1_000);
      return async () => {
        clearInterval(timer);
        device?.free();
      };
    },
  },
];

/** Does it again and again; that it is refused is what it is for. */
async function again(every: number, action: () => Promise<unknown>): Promise<() => Promise<void>> {
  let stopped = false;
  const run = async (): Promise<void> => {
    while (!stopped) {
      await action().catch((error: unknown) => {
        if (!(error instanceof KeyturnError)) throw error;
      });
      await new Promise((resolve) => setTimeout(resolve, every));
    }
  };
  const running = run();
  return async () => {
    stopped = true;
    await running;
  };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) throw new Error(`strace ended by itself with ${child.exitCode}`);
  const exit = once(child, 'exit');
  child.kill('SIGINT');
  await exit;
}
