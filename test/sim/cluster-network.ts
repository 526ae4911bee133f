/** How calls get to a home in a simulated cluster: by way of any member, over links that delay, lose and are cut. */
import type { HomeEntry } from '../../src/cluster/registry/registry.js';
import type {
  AckAnswer,
  AckRequest,
  AcquireAnswer,
  AcquireRequest,
  Administration,
  AwaitAnswer,
  AwaitRequest,
  Coordinator,
  CoordinatorStanding,
  CoordinatorStats,
  DeliverAnswer,
  DeliverRequest,
  DeQueueAnswer,
  DeQueueRequest,
  DrainReport,
  EnQueueAnswer,
  EnQueueRequest,
  Leaders,
  NackAnswer,
  NackRequest,
  Refusal,
  RenewAnswer,
  RenewRequest,
  Reply,
  Result,
  Session,
  SubmitAnswer,
  SubmitRequest,
  Waiting,
} from '../../src/coordinator.js';
import type { SimProcess } from './cluster-process.js';
import type { WorldTime } from './durable-time.js';
import type { Chance } from './random.js';

/** What was heard of a call; `lost`: nothing, and nobody knows what became of it. */
export type Heard<T> = { readonly answer: T } | { readonly refusal: Refusal } | 'lost';

export type Send<T> = (home: Coordinator, reply: Reply<T>) => Waiting;

export class ClusterNetwork {
  /** Ways between members that are cut, `from>to`. */
  readonly cuts = new Set<string>();
  isGood = false;
  calls = 0;
  forwarded = 0;

  constructor(
    private readonly time: WorldTime,
    private readonly chance: Chance,
    private readonly find: (id: string) => SimProcess | undefined,
  ) {}

  /**
   * Asks the home of a partition by way of this member.
   * @param leaves called where and when an answer leaves its home
   */
  ask<T>(
    by: SimProcess,
    partition: number,
    send: Send<T>,
    leaves: (answer: T, home: string) => void,
    hear: (heard: Heard<T>) => void,
  ): void {
    this.calls += 1;
    let isOver = false;
    const end = (heard: Heard<T>) => {
      if (isOver) return;
      isOver = true;
      hear(heard);
    };
    this.time.after(this.chance.int(3_000, 6_000), () => end('lost'));
    const back = (heard: Heard<T>) => this.#pass(() => end(heard));
    this.#pass(() =>
      by.clock.run(() => {
        const home = by.member.home(partition);
        if (home === undefined) return back({ refusal: noHome(partition) });
        const reply: Leaving<T> = {
          answer: (answer) => {
            if (!(home instanceof RemoteHome)) leaves(answer, by.name);
            back({ answer });
            return true;
          },
          refuse: (refusal) => back({ refusal }),
          leaves,
        };
        send(home, reply);
      }),
    );
  }

  /** The home behind a link. */
  connect(from: SimProcess, home: HomeEntry): Coordinator {
    return new RemoteHome((send, reply, isOfPartition) => {
      this.forwarded += 1;
      const followed = from.routes.version;
      const to = this.find(home.member);
      if (to === undefined || this.cuts.has(`${from.name}>${to.name}`)) return;
      const back = (task: () => void) => {
        if (!this.cuts.has(`${to.name}>${from.name}`)) this.#pass(() => from.clock.run(task));
      };
      const deliver = () =>
        to.clock.run(() => {
          const { partition } = home;
          const local = to.member.isHere(partition) ? to.member.home(partition) : undefined;
          // As a link does: nobody takes what was routed in another way than it goes by itself.
          const isUnlike = to.routes.version !== followed;
          if (to.routes.version < followed) to.member.look();
          if (local === undefined || isUnlike) return back(() => this.#refused(from, reply, partition));
          send(local, {
            answer: (answer: never) => {
              if ('leaves' in reply) (reply as Leaving<never>).leaves(answer, to.name);
              back(() => void reply.answer(answer));
              return true;
            },
            refuse: (refusal) => back(() => reply.refuse(refusal)),
          });
        });
      this.#pass(deliver);
      // What partitions say to each other may be sent twice, and come when it is long over.
      const { chance } = this;
      if (isOfPartition && !this.isGood && chance.in100(20)) this.time.after(chance.int(0, 9_000), deliver);
    });
  }

  #refused(from: SimProcess, reply: Reply<never>, partition: number): void {
    from.member.look();
    reply.refuse(noHome(partition));
  }

  /** One member tells another that a partition is its. */
  handedOver(from: SimProcess, id: string, partition: number, shutFor: number): void {
    const to = this.find(id);
    if (to === undefined || this.cuts.has(`${from.name}>${to.name}`)) return;
    this.#pass(() => to.clock.run(() => to.member.takesOver(partition, shutFor)));
  }

  /** The same of the steps before that. */
  tells(from: SimProcess, id: string, tell: (to: SimProcess) => void): void {
    const to = this.find(id);
    if (to === undefined || this.cuts.has(`${from.name}>${to.name}`)) return;
    this.#pass(() => to.clock.run(() => tell(to)));
  }

  #pass(task: () => void): void {
    const { chance } = this;
    if (!this.isGood && chance.in100(1)) return;
    const ms = !this.isGood && chance.in100(5) ? chance.int(10, 1_500) : chance.int(0, 5);
    this.time.after(ms, task);
  }
}

/** A reply that tells when an answer to it leaves its home. */
interface Leaving<T> extends Reply<T> {
  leaves(answer: T, home: string): void;
}

type Forward = (
  send: (home: Coordinator, reply: Reply<never>) => unknown,
  reply: Reply<never>,
  isOfPartition: boolean,
) => void;

function noHome(partition: number): Refusal {
  return { kind: 'no_home', partition, description: 'ask again', retryAfter: 50 };
}

/** Only the calls that the simulation makes. */
export class RemoteHome implements Coordinator {
  constructor(private readonly forward: Forward) {}

  enQueue(request: EnQueueRequest, reply: Reply<EnQueueAnswer>): Waiting {
    return this.#forward((calls, to) => calls.enQueue(request, to), reply);
  }

  deQueue(request: DeQueueRequest, reply: Reply<DeQueueAnswer>): void {
    this.#forward((calls, to) => calls.deQueue(request, to), reply);
  }

  submit(request: SubmitRequest, reply: Reply<SubmitAnswer>): Waiting {
    return this.#forward((calls, to) => calls.submit(request, to), reply);
  }

  acquire(request: AcquireRequest, reply: Reply<AcquireAnswer>): Waiting {
    return this.#forward((calls, to) => calls.acquire(request, to), reply);
  }

  ack(request: AckRequest, reply: Reply<AckAnswer>): Waiting {
    return this.#forward((calls, to) => calls.ack(request, to), reply);
  }

  nack(request: NackRequest, reply: Reply<NackAnswer>): void {
    this.#forward((calls, to) => calls.nack(request, to), reply);
  }

  renew(request: RenewRequest, reply: Reply<RenewAnswer>): void {
    this.#forward((calls, to) => calls.renew(request, to), reply);
  }

  awaitItem(request: AwaitRequest, reply: Reply<AwaitAnswer>): Waiting {
    return this.#forward((calls, to) => calls.awaitItem(request, to), reply);
  }

  readonly leaders: Leaders = {
    stand: (request, reply) => this.#forward(({ leaders }, to) => leaders.stand(request, to), reply),
    report: (request, reply) => this.#forward(({ leaders }, to) => leaders.report(request, to), reply),
    withdraw: (request, reply) => this.#forward(({ leaders }, to) => leaders.withdraw(request, to), reply),
    awaitLeader: (request, reply) => this.#forward(({ leaders }, to) => leaders.awaitLeader(request, to), reply),
    yieldLeader: (group, reply) => this.#forward(({ leaders }, to) => leaders.yieldLeader(group, to), reply),
  };

  deliver(request: DeliverRequest, reply: Reply<DeliverAnswer>): void {
    this.#forward((home, to) => home.deliver?.(request, to), reply, true);
  }

  undeliverable(): void {}

  openSession(): Result<Session> {
    throw new TypeError('no session is opened here');
  }

  get admin(): Administration {
    throw new TypeError('nobody administers here');
  }

  stats(): CoordinatorStats {
    throw new TypeError('nobody counts here');
  }

  statsInSlices(): Promise<CoordinatorStanding> {
    throw new TypeError('nobody counts here');
  }

  drain(): Promise<DrainReport> {
    throw new TypeError('nobody drains here');
  }

  async close(): Promise<void> {}

  /** A call that is sent away answers by the reply that it came with. */
  #forward<T>(
    send: (home: Coordinator, reply: Reply<T>) => unknown,
    reply: Reply<T>,
    isOfPartition = false,
  ): undefined {
    // The type of the answer is that of the method by which it was asked for: nobody in between looks into it.
    this.forward(send as (home: Coordinator, reply: Reply<never>) => unknown, reply as Reply<never>, isOfPartition);
  }
}
