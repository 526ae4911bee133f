import type { Keyturn, Leadership } from '@keyturn/client';
import { connectClient } from '../load/dispatch.js';
import { LeaderStreams } from '../load/leader-streams.js';
import { startSidecar } from '../load/server-process.js';
import { type Figure, percentile, type Round } from '../measure.js';
import { inRounds, type Rounds } from '../rounds.js';
import type { Row, Say } from '../row.js';

const PLAN = { rounds: 9 };
const YIELDS = 200;
const GROUP = 'bench';
/** With 1,000 leaders each. */
const STREAMS = 10;

export const leader: Row = {
  what: 'from the yield of a leader until the next one is inaugurated, two candidates at one sidecar; and 10,000 leaders that beat at once',
  limit: 900,
  async run(say) {
    return { figures: [...(await measureYields(YIELDS, PLAN, say)), await measureBeats(STREAMS, PLAN, say)] };
  },
};

export async function measureYields(yields: number, plan: Rounds, say: Say): Promise<Figure[]> {
  const sidecar = await startSidecar();
  const clients = [connectClient(sidecar.address), connectClient(sidecar.address)] as const;
  const candidates = [new Candidate(clients[0]), new Candidate(clients[1])] as const;
  let [holder, next] = candidates;
  await holder.stands(GROUP);
  await holder.works;
  await next.stands(GROUP);
  const rounds = await inRounds(plan, say, async () => {
    const times: number[] = [];
    for (let done = 0; done < yields; done++) {
      times.push(await passOn(holder, next));
      [holder, next] = [next, holder];
    }
    return times;
  });
  await Promise.all(clients.map((client) => client.close()));
  await sidecar.stop();
  const what =
    'from the yield of a leader, whose work ends at once, until the inauguration of the next one begins, who waits on another connection to the same sidecar; load: @keyturn/client';
  const figure = (part: string, share: number, told: string, marks: Pick<Figure, 'enough' | 'aim'>): Figure => ({
    part,
    what: `${what}; ${told}`,
    unit: 'ms',
    peer: undefined,
    better: 'lower',
    ...marks,
    outcome: { is: 'measured', rounds: rounds.map((times) => ({ value: percentile(times, share), peer: undefined })) },
  });
  return [
    figure('p50', 0.5, 'half take no longer', { enough: undefined, aim: undefined }),
    figure('p99', 0.99, '99 % take no longer', { enough: 50, aim: 10 }),
  ];
}

export async function measureBeats(streams: number, plan: Rounds, say: Say): Promise<Figure> {
  const sidecar = await startSidecar();
  const leaders = await LeaderStreams.start(sidecar.address, streams);
  const rounds = await inRounds(plan, say, async (): Promise<Round> => {
    return { value: await sidecar.longestPause(() => leaders.beat()), peer: undefined };
  });
  leaders.close();
  await sidecar.stop();
  return {
    part: 'beats, pause',
    what: `the longest pause of the event loop of the sidecar while ${1_000 * streams} leaders on ${streams} streams say at once that they live`,
    unit: 'ms',
    peer: undefined,
    better: 'lower',
    enough: 50,
    aim: 20,
    outcome: { is: 'measured', rounds },
  };
}

/** @returns ms */
async function passOn(holder: Candidate, next: Candidate): Promise<number> {
  await Promise.all([holder.works, next.waits]);
  next.expectTerm();
  holder.expectWait();
  const start = performance.now();
  holder.yield();
  return (await next.inaugurated) - start;
}

/** Tells when what it stands for has come. */
class Candidate {
  #leadership: Leadership | undefined;
  #inaugurated = new Told<number>();
  #works = new Told<void>();
  #waits = new Told<void>();

  constructor(private readonly keyturn: Keyturn) {}

  /** When its inauguration began. */
  get inaugurated(): Promise<number> {
    return this.#inaugurated.promise;
  }

  get works(): Promise<void> {
    return this.#works.promise;
  }

  /** It stands among those who wait. */
  get waits(): Promise<void> {
    return this.#waits.promise;
  }

  /** Resolves when the sidecar knows it. */
  async stands(group: string): Promise<void> {
    this.#leadership = this.keyturn.lead(group, {
      standing: () => this.#waits.tell(),
      inaugurate: () => this.#inaugurated.tell(performance.now()),
      execute: (_, signal) => {
        this.#works.tell();
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      },
    });
    await Promise.race([this.works, this.waits]);
  }

  yield(): void {
    this.#leadership?.yield();
  }

  expectTerm(): void {
    this.#inaugurated = new Told<number>();
    this.#works = new Told<void>();
  }

  expectWait(): void {
    this.#waits = new Told<void>();
  }
}

class Told<T> {
  readonly promise: Promise<T>;
  tell: (value: T) => void = () => undefined;

  constructor() {
    this.promise = new Promise((resolve) => {
      this.tell = resolve;
    });
  }
}
