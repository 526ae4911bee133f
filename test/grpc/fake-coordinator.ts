/** A coordinator whose every call is what the test says: it shows what the gRPC side asks of the port. */
import type { Administration, Coordinator, CoordinatorStats, DrainReport } from '../../src/coordinator.js';

export class FakeCoordinator implements Coordinator {
  enQueue: Coordinator['enQueue'] = () => unexpected('enQueue');
  deQueue: Coordinator['deQueue'] = () => unexpected('deQueue');
  submit: Coordinator['submit'] = () => unexpected('submit');
  acquire: Coordinator['acquire'] = () => unexpected('acquire');
  ack: Coordinator['ack'] = () => unexpected('ack');
  nack: Coordinator['nack'] = () => unexpected('nack');
  renew: Coordinator['renew'] = () => unexpected('renew');
  awaitItem: Coordinator['awaitItem'] = () => unexpected('awaitItem');
  openSession: Coordinator['openSession'] = () => unexpected('openSession');

  readonly admin: { -readonly [K in keyof Administration]: Administration[K] } = {
    listQueues: () => unexpected('listQueues'),
    listKeys: () => unexpected('listKeys'),
    explainKey: () => unexpected('explainKey'),
    evictHolder: () => unexpected('evictHolder'),
    resumeKey: () => unexpected('resumeKey'),
    pauseQueue: () => unexpected('pauseQueue'),
    resumeQueue: () => unexpected('resumeQueue'),
    setLimits: () => unexpected('setLimits'),
    listDeadLetters: () => unexpected('listDeadLetters'),
    redrive: () => unexpected('redrive'),
    discard: () => unexpected('discard'),
    watch: () => unexpected('watch'),
  };

  stats(): CoordinatorStats {
    return { queues: [], sessions: 0, parkedCalls: 0, payloadBytes: 0 };
  }

  drain(): Promise<DrainReport> {
    return Promise.resolve({ liveTurns: 0, lostItems: 0 });
  }

  close(): void {}
}

function unexpected(call: string): never {
  throw new Error(`${call} was not expected`);
}
