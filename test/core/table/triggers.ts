import type { NackKind } from '../../../src/coordinator.js';
import { KEY } from '../../support/builders.js';
import { atOnce, okay, runThrough } from '../stage.js';
import type { LaneEvent } from './lane-table.js';
import { DELAY, type Scene, timesOf } from './scene.js';

/** Makes each event happen, or, where the state rules it out, what comes closest to it. */
export const TRIGGERS: Readonly<Record<LaneEvent, (scene: Scene) => void>> = {
  caller_arrives: ({ stage, queue }) => void stage.enQueue('newcomer', { queue, wait: 1_000 }),
  items_arrive: ({ stage, queue }) => void stage.submit('newcomer', [{ itemId: 'new' }], queue),
  dispatch: ({ stage, queue }) => void stage.acquire('worker', { queues: [queue] }),
  settle_done: settleDone,
  settle_retry: (scene) => settleNack(scene, 'retry'),
  settle_release: (scene) => settleNack(scene, 'release'),
  settle_dead_letter: (scene) => settleNack(scene, 'dead_letter'),
  renew: ({ stage, queue, token }) => void stage.renew('renewer', token, queue),
  lease_ends: ({ stage }) => stage.pass(timesOf('lease_ends').lease),
  wait_ends: ({ stage }) => stage.pass(timesOf('wait_ends').wait),
  ticket_ends: ({ stage }) => stage.pass(10_000),
  cancel: ({ answered, calls }) => (calls.get('caller') ?? calls.get('ticketed') ?? answered)?.cancel(),
  take_over: ({ stage }) => stage.pass(timesOf('take_over').wait),
  evict: ({ stage, queue }) =>
    stage.person(
      (now) => stage.core.evictHolder(queue, KEY, now),
      ({ evicted }) => (evicted ? 'evicted' : 'nobody'),
    ),
  delay_ends: ({ stage }) => stage.pass(DELAY),
  gate_opens: openGate,
  retry_now: ({ stage, queue }) =>
    stage.person(
      (now) => stage.core.retryNow({ queue, what: { key: KEY } }, now),
      ({ ended }) => (ended.length > 0 ? `ended ${ended.join(' ')}` : 'nothing ended'),
    ),
  resume: ({ stage, queue }) =>
    stage.person(
      (now) => stage.core.resumeKey(queue, KEY, now),
      ({ resumed }) => (resumed ? 'resumed' : 'not parked'),
    ),
  redrive: ({ stage, queue }) =>
    stage.person(
      (now) => atOnce(stage.core.redrive({ queue, key: KEY, itemIds: [] }, 1_000, () => now)),
      (count) => `${count} back`,
    ),
  discard: discardWaiting,
  adopt: ({ stage, queue }) => void stage.renew('renewer', 200, queue),
};

function settleDone({ stage, queue, token, given }: Scene): void {
  if (given.holder === 'caller') stage.deQueue('settler', { queue, holder: { token } });
  else stage.ack('settler', { queue, token });
}

function settleNack({ stage, queue, token }: Scene, kind: NackKind): void {
  stage.nack('settler', { queue, token, kind });
}

function openGate({ stage, queue }: Scene): void {
  okay(stage.core.pauseQueue(queue, stage.now));
  stage.person(
    (now) => stage.core.resumeQueue(queue, now),
    () => 'opened',
  );
}

function discardWaiting({ stage, queue }: Scene): void {
  const choice = { queue, key: KEY, itemIds: [] };
  const scan = okay(stage.core.discardWaiting(choice, 1_000, () => stage.now));
  const gone = scan === undefined ? 0 : runThrough(scan).done;
  stage.told.push(`person ${gone} gone`);
}
