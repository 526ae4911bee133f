/** The life of a pod with a sidecar, of real processes in the order of kubelet: docs/KUBERNETES.md. */
import { deepEqual, equal, match, notEqual } from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectSocket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { connect } from '@keyturn/client';
import type { NodeProcess } from '../support/node-process.js';
import { LIVENESS, Pod, type PodOptions, STARTUP } from './pod.js';

const WORKER = new URL('./worker.js', import.meta.url);
const JOB = new URL('./job.js', import.meta.url);

interface Stage {
  readonly pod: Pod;
  readonly worker: NodeProcess;
}

/** A pod whose worker has the turn of an item, and works until it is told that it is done. */
async function working(t: TestContext, options: PodOptions = {}, ...args: readonly string[]): Promise<Stage> {
  const pod = new Pod(t, options);
  const worker = await pod.start(WORKER, args);
  const client = connect(String((await pod.listening())['grpc']), { transport: 'unary' });
  await client.submit({ queue: 'orders', items: [{ key: 'ada' }] });
  await client.close();
  await worker.says(({ works }) => works === 'ada');
  return { pod, worker };
}

const finish = ({ worker }: Stage) => process.kill(worker.pid, 'SIGUSR2');
const isTold = ({ pod }: Stage) => pod.sidecar.said.some(({ msg }) => String(msg).startsWith('draining'));

test('S210: the worker drains, and then the sidecar ends by itself, and tells what nobody took', async (t) => {
  const stage = await working(t, {}, 'submits');
  const { pod, worker } = stage;
  const deleted = pod.terminate(worker);
  await worker.says(({ stopping }) => stopping === true);
  // The sidecar knows of nothing yet: what the worker hands on at its end is accepted.
  deepEqual([isTold(stage), await pod.probe(STARTUP), await pod.probe(LIVENESS)], [false, 200, 200]);
  finish(stage);
  equal((await worker.says(({ submit }) => submit !== undefined))['submit'], 'accept');
  await deleted;
  deepEqual(pod.events, ['started', 'main told', 'main ended: 0', 'sidecar told', 'sidecar ended: 0']);
  // The mail that nobody took: it is told, because only this sidecar had it.
  const stopped = await pod.sidecar.says(({ msg }) => String(msg).startsWith('stopped'));
  deepEqual([stopped['live_turns'], stopped['lost_items']], [0, 1]);
});

test('S210: told together with its worker it lets the turn end, refuses what is new, and lives for its probe', async (t) => {
  const stage = await working(t, {}, 'submits');
  const { pod, worker } = stage;
  // What a preStop, or a place among the containers, amounts to.
  pod.sidecar.kill('SIGTERM');
  worker.kill('SIGTERM');
  await pod.sidecar.says(({ msg }) => String(msg).startsWith('draining'));
  deepEqual([await pod.probe(STARTUP), await pod.probe(LIVENESS)], [503, 200]);
  finish(stage);
  equal((await worker.says(({ submit }) => submit !== undefined))['submit'], 'DRAINING');
  equal(await pod.sidecar.ended, 0);
  const stopped = await pod.sidecar.says(({ msg }) => String(msg).startsWith('stopped'));
  equal(stopped['live_turns'], 0, 'the turn was ended, not left');
  worker.kill('SIGKILL');
});

test('a worker that needs more than the grace period is killed, and the sidecar soon after it', async (t) => {
  const { pod, worker } = await working(t, { graceMs: 500 });
  await pod.terminate(worker);
  deepEqual(pod.events, ['started', 'main told', 'main ended: SIGKILL', 'sidecar told', 'sidecar ended: SIGKILL']);
});

test('a Job is done when its container is, and its sidecar ends with 0 after it', async (t) => {
  const pod = new Pod(t);
  const job = await pod.start(JOB);
  equal(await job.ended, 0);
  await pod.endSidecar();
  equal((await job.says(({ job: status }) => status !== undefined))['job'], 'done');
  deepEqual(pod.events, ['started', 'main ended: 0', 'sidecar told', 'sidecar ended: 0']);
});

test('S211: from outside the pod HTTP can be reached, and gRPC cannot', async (t) => {
  const pod = new Pod(t);
  equal(await pod.probe(STARTUP), 200);
  const grpc = String((await pod.listening())['grpc']);
  match(grpc, /^127\.0\.0\.1:/);
  const socket = connectSocket({ host: '127.0.0.2', port: Number(grpc.split(':')[1]) });
  const [error] = await once(socket, 'error').catch((reason: unknown) => [reason]);
  equal(error instanceof Error && 'code' in error ? error.code : error, 'ECONNREFUSED');
  const warned = pod.sidecar.said.filter(({ level, http_listen }) => level === 'warn' && http_listen === undefined);
  deepEqual(warned, [], 'of metrics alone: whoever reaches the pod can read them');
});

test('with HTTP on the loopback the startup probe fails, and the worker would never start', async (t) => {
  const pod = new Pod(t, { env: { KEYTURN_HTTP_LISTEN: '127.0.0.1:0' } });
  equal(await pod.probe(STARTUP), 'ECONNREFUSED');
  notEqual(await pod.probe(LIVENESS), 200);
});
