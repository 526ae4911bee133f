/** Homes that come, go, refuse and answer late, over coordinators in this process. */
import type { Homes } from '../../../src/cluster/partitions/homes.js';
import type {
  AckAnswer,
  AcquireAnswer,
  Calls,
  Coordinator,
  EnQueueAnswer,
  Leaders,
  Pending,
  Refusal,
  Reply,
  Result,
  Session,
  SessionListener,
  TurnRef,
  Waiting,
} from '../../../src/coordinator.js';

export class FakeHomes implements Homes {
  readonly #homes = new Map<number, Coordinator>();
  readonly #away = new Set<number>();
  readonly #listeners = new Set<(partitions: readonly number[]) => void>();

  constructor(readonly partitions: number) {}

  home(partition: number): Coordinator | undefined {
    return this.#homes.get(partition);
  }

  isHere(partition: number): boolean {
    return this.#homes.has(partition) && !this.#away.has(partition);
  }

  whyNone(partition: number): string {
    return `nobody has claimed ${partition}`;
  }

  onChange(listener: (partitions: readonly number[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  looks = 0;

  look(): void {
    this.looks += 1;
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  /** @param told unset: the change is told */
  set(partition: number, home: Coordinator | undefined, told = true): void {
    if (home === undefined) this.#homes.delete(partition);
    else this.#homes.set(partition, home);
    if (told) for (const listener of [...this.#listeners]) listener([partition]);
  }

  /** It is the home of another process. */
  isElsewhere(partition: number): void {
    this.#away.add(partition);
  }

  /** It is in this process. */
  isBack(partition: number): void {
    this.#away.delete(partition);
  }
}

/** A home behind something like a link: what is asked and answered can be kept, and it can cease to be the home. */
export class FakeHome implements Coordinator {
  /** What it was asked, in order. */
  readonly asked: string[] = [];
  /** Answers stay on their way until they are delivered. */
  isLate = false;
  isShut = false;
  /** It is the home, and refuses. */
  trouble: Refusal | undefined;
  /** In place of answers, as if what was decided could not be written: turns are taken back. */
  refuseAnswers: Refusal | undefined;
  readonly #onTheWay: (() => void)[] = [];
  readonly #open = new Set<OpenCall<unknown>>();
  readonly #calls: Calls;
  sessions = 0;

  constructor(
    readonly inner: Coordinator,
    private readonly partition: number,
    /** The home as a gateway has it. */
    private readonly remote = inner,
  ) {
    this.#calls = this.#wrap(remote, '');
  }

  enQueue: Calls['enQueue'] = (request, reply) => this.#calls.enQueue(request, reply);
  deQueue: Calls['deQueue'] = (request, reply) => this.#calls.deQueue(request, reply);
  submit: Calls['submit'] = (request, reply) => this.#calls.submit(request, reply);
  acquire: Calls['acquire'] = (request, reply) => this.#calls.acquire(request, reply);
  ack: Calls['ack'] = (request, reply) => this.#calls.ack(request, reply);
  nack: Calls['nack'] = (request, reply) => this.#calls.nack(request, reply);
  renew: Calls['renew'] = (request, reply) => this.#calls.renew(request, reply);
  awaitItem: Calls['awaitItem'] = (request, reply) => this.#calls.awaitItem(request, reply);

  leaders: Leaders = {
    stand: (request, reply) => this.ask('stand', (to) => this.remote.leaders.stand(request, to), reply),
    report: (request, reply) =>
      void this.ask(
        `report ${request.report.kind}`,
        (to) => done(() => this.remote.leaders.report(request, to)),
        reply,
      ),
    withdraw: (request, reply) =>
      void this.ask('withdraw', (to) => done(() => this.remote.leaders.withdraw(request, to)), reply),
    awaitLeader: (request, reply) =>
      this.ask('await leader', (to) => this.remote.leaders.awaitLeader(request, to), reply),
    yieldLeader: (group, reply) =>
      void this.ask('yield leader', (to) => done(() => this.remote.leaders.yieldLeader(group, to)), reply),
  };

  get admin() {
    return this.remote.admin;
  }

  undeliverable(turns: readonly TurnRef[], unwanted?: boolean): void {
    this.asked.push(`undeliverable ${turns.length}${unwanted === true ? ' unwanted' : ''}`);
    this.remote.undeliverable(turns, unwanted);
  }

  openSession(listener: SessionListener): Result<Session> {
    if (this.isShut) return { ok: false, refusal: this.noHome };
    const opened = this.remote.openSession(listener);
    if (!opened.ok) return opened;
    const session = opened.value;
    this.sessions += 1;
    return {
      ok: true,
      value: {
        ...this.#wrap(session, 's:'),
        hello: (request, reply) =>
          void this.ask(`hello ${request.sessionId}`, (to) => done(() => session.hello(request, to)), reply),
        undeliverable: (turns, unwanted) => session.undeliverable(turns, unwanted),
        close: () => {
          this.sessions -= 1;
          this.asked.push('close');
          session.close();
        },
      },
    };
  }

  stats: Coordinator['stats'] = () => this.inner.stats();
  statsInSlices: Coordinator['statsInSlices'] = (take) => this.inner.statsInSlices(take);
  drain: Coordinator['drain'] = (timeout) => this.inner.drain(timeout);
  close: Coordinator['close'] = () => this.inner.close();

  /** Not the home any more: held answers leave, who waits is sent away. */
  shut(): void {
    this.isShut = true;
    this.deliver();
    for (const call of [...this.#open]) call.sendAway(this.noHome);
  }

  deliver(): void {
    for (let next = this.#onTheWay.shift(); next !== undefined; next = this.#onTheWay.shift()) next();
  }

  get onTheWay(): number {
    return this.#onTheWay.length;
  }

  get noHome(): Refusal {
    const description = 'it has moved';
    return { kind: 'no_home', partition: this.partition, description, retryAfter: 50 };
  }

  ask<A>(what: string, send: (to: Reply<A>) => Waiting, reply: Reply<A>): Waiting {
    this.asked.push(what);
    const refusal = this.isShut ? this.noHome : this.trouble;
    if (refusal !== undefined) {
      reply.refuse(refusal);
      return undefined;
    }
    const call = new OpenCall(this, reply);
    this.#open.add(call);
    call.pending = send(call);
    return call.isDone ? undefined : call;
  }

  /** @returns whether it has left */
  send(deliver: () => boolean, turns: readonly TurnRef[]): boolean {
    if (!this.isLate) return deliver();
    this.#onTheWay.push(() => {
      if (!deliver() && turns.length > 0) this.remote.undeliverable(turns);
    });
    return true;
  }

  done(call: OpenCall<never>): void {
    this.#open.delete(call);
  }

  #wrap(calls: Calls, prefix: string): Calls {
    return {
      enQueue: (request, reply) => this.ask(`${prefix}enqueue`, (to) => calls.enQueue(request, to), reply),
      deQueue: (request, reply) =>
        void this.ask(`${prefix}dequeue`, (to) => done(() => calls.deQueue(request, to)), reply),
      submit: (request, reply) => this.ask(`${prefix}submit`, (to) => calls.submit(request, to), reply),
      acquire: (request, reply) =>
        this.ask(`${prefix}acquire ${request.wait}`, (to) => calls.acquire(request, to), reply),
      ack: (request, reply) => this.ask(`${prefix}ack`, (to) => calls.ack(request, to), reply),
      nack: (request, reply) => void this.ask(`${prefix}nack`, (to) => done(() => calls.nack(request, to)), reply),
      renew: (request, reply) => void this.ask(`${prefix}renew`, (to) => done(() => calls.renew(request, to)), reply),
      awaitItem: (request, reply) => this.ask(`${prefix}await`, (to) => calls.awaitItem(request, to), reply),
    };
  }
}

class OpenCall<A> implements Reply<A>, Pending {
  pending: Waiting;
  isDone = false;
  #isDecided = false;

  constructor(
    private readonly home: FakeHome,
    private readonly reply: Reply<A>,
  ) {}

  answer(value: A): boolean {
    this.#isDecided = true;
    const refusal = this.home.refuseAnswers;
    if (refusal !== undefined) {
      this.refuse(refusal);
      return false;
    }
    return this.home.send(() => this.#end() && this.reply.answer(value), turnsOf(value));
  }

  refuse(refusal: Refusal): void {
    this.#isDecided = true;
    this.home.send(() => {
      if (this.#end()) this.reply.refuse(refusal);
      return true;
    }, []);
  }

  cancel(leave?: boolean): void {
    if (this.#end() && !this.#isDecided) this.pending?.cancel(leave);
  }

  callOff(leave?: boolean): boolean {
    if (this.isDone || this.#isDecided || this.pending === undefined) return false;
    this.home.asked.push(leave === true ? 'call off, leave' : 'call off');
    return this.pending.callOff?.(leave) === true && this.#end();
  }

  sendAway(refusal: Refusal): void {
    this.pending?.cancel();
    if (this.#end()) this.reply.refuse(refusal);
  }

  #end(): boolean {
    if (this.isDone) return false;
    this.isDone = true;
    this.home.done(this);
    return true;
  }
}

function turnsOf(answer: unknown): readonly TurnRef[] {
  // Answers are told apart by what they have; those of other calls give no turns.
  const { decision, turn } = answer as Partial<Extract<EnQueueAnswer, { decision: 'accept' }>>;
  const { deliveries } = answer as Partial<AcquireAnswer>;
  const { next } = answer as Partial<AckAnswer>;
  if (decision === 'accept' && turn !== undefined) return [turn];
  return (deliveries ?? next?.deliveries ?? []).map((delivery) => delivery.turn);
}

/** The call does not wait. */
function done(run: () => void): undefined {
  run();
  return undefined;
}
