/** A coordinator whose every call is what the test says: it shows what the gRPC side asks of the port. */
import type {
  AdminAnswer,
  Administration,
  AdminKind,
  AdminRequest,
  Coordinator,
  CoordinatorStanding,
  CoordinatorStats,
  DrainReport,
  Leaders,
  Result,
  Session,
  SessionListener,
  TurnRef,
} from '../../src/coordinator.js';

type Answers = {
  [K in AdminKind]?: (request: AdminRequest<K>, by?: string) => Promise<Result<AdminAnswer<K>>>;
};

export class FakeAdministration implements Administration {
  /** By kind; a kind that is missing is not expected. */
  readonly answers: Answers = {};
  watch: Administration['watch'] = () => unexpected('watch');

  ask<K extends AdminKind>(kind: K, request: AdminRequest<K>, by?: string): Promise<Result<AdminAnswer<K>>> {
    const answer: Answers[K] = this.answers[kind];
    return answer === undefined ? unexpected(kind) : answer(request, by);
  }
}

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

  leaders: Leaders = {
    stand: () => unexpected('stand'),
    report: () => unexpected('report'),
    withdraw: () => unexpected('withdraw'),
    awaitLeader: () => unexpected('awaitLeader'),
    yieldLeader: () => unexpected('yieldLeader'),
  };

  /** What it was told that nobody learnt of. */
  readonly unknown: TurnRef[] = [];

  undeliverable(turns: readonly TurnRef[]): void {
    this.unknown.push(...turns);
  }

  readonly admin = new FakeAdministration();

  stats(): CoordinatorStats {
    return {
      queues: [],
      sessions: 0,
      waitingCalls: 0,
      payloadBytes: 0,
      payloadLimit: 0,
      memoryBytes: 0,
      memoryLimit: 0,
    };
  }

  statsInSlices(): Promise<CoordinatorStanding> {
    return Promise.resolve(this.stats());
  }

  drain(): Promise<DrainReport> {
    return Promise.resolve({ liveTurns: 0, lostItems: 0 });
  }

  async close(): Promise<void> {}
}

/** A session whose every call is what the test says, and what it was told of its stream. */
export class FakeSession implements Session {
  listener: SessionListener | undefined;
  closed = 0;
  readonly unknown: TurnRef[] = [];

  enQueue: Session['enQueue'] = () => unexpected('enQueue');
  deQueue: Session['deQueue'] = () => unexpected('deQueue');
  submit: Session['submit'] = () => unexpected('submit');
  acquire: Session['acquire'] = () => unexpected('acquire');
  ack: Session['ack'] = () => unexpected('ack');
  nack: Session['nack'] = () => unexpected('nack');
  renew: Session['renew'] = () => unexpected('renew');
  awaitItem: Session['awaitItem'] = () => unexpected('awaitItem');
  hello: Session['hello'] = () => unexpected('hello');

  undeliverable(turns: readonly TurnRef[]): void {
    this.unknown.push(...turns);
  }

  close(): void {
    this.closed += 1;
  }

  /** A coordinator whose streams are all this session. */
  coordinator(): FakeCoordinator {
    const coordinator = new FakeCoordinator();
    coordinator.openSession = (listener) => {
      this.listener = listener;
      return { ok: true, value: this };
    };
    return coordinator;
  }
}

function unexpected(call: string): never {
  throw new Error(`${call} was not expected`);
}
