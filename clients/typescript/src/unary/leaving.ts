/**
 * What unary calls leave behind that were given up here: a cancelled call keeps the place of its ticket, and what its ticket
 * was given in that moment is the ticket's. Whoever said `leave` wants neither, and each takes a call of its own.
 */
import { credentials } from '@grpc/grpc-js';
import type { Connection } from '../connection/connection.js';
import { CoordinatorServiceClient } from '../gen/keyturn/v1/coordinator.js';
import type { Clock } from '../time/clock.js';
import * as answers from '../wire/answers.js';
import * as requests from '../wire/requests.js';
import { KeyturnError } from '../words/errors.js';
import type { AcquireCall, Turn } from '../words/worker-words.js';
import { OpenCalls } from './open-calls.js';

/** How long one of these calls may take, ms: why we leave matters more. Should it fail, the lease or `ticket_ttl` ends it. */
const GIVING_UP_MS = 1_000;

interface Place {
  readonly queue: string;
  readonly key: string;
  readonly ticket: string;
}

export class Leaving {
  readonly #coordinator: CoordinatorServiceClient;
  /** Of its own: these go on when the client's calls are refused. */
  readonly #calls: OpenCalls;
  readonly #pending = new Set<Promise<void>>();
  #isClosing = false;

  constructor(
    { address, options, reach }: Connection,
    private readonly clock: Clock,
  ) {
    this.#calls = new OpenCalls(reach);
    this.#coordinator = new CoordinatorServiceClient(address, credentials.createInsecure(), options);
  }

  /** The place of a ticket, with the turn that it may have been given. */
  place(asked: Promise<unknown>, { queue, key, ticket }: Place): void {
    const client = this.#coordinator;
    const call = requests.wireDeQueue({ queue, key, ticket, abandoned: true });
    this.#watch(asked, () => this.#calls.ask(client, client.deQueue, call, { timeout: GIVING_UP_MS }));
  }

  /** Turns with items that a ticket of dispatch may have been given: asked for once more, without waiting, and released. */
  turns(asked: Promise<unknown>, call: AcquireCall, consumerId: string | undefined): void {
    const client = this.#coordinator;
    this.#watch(asked, async () => {
      const request = requests.wireAcquire({ ...call, wait: 0 }, consumerId);
      const again = await this.#calls.ask(client, client.acquire, request, { timeout: GIVING_UP_MS });
      await Promise.all(answers.acquireAnswer(again).deliveries.map(({ turn }) => this.#release(turn)));
    });
  }

  /** A turn that no handler works on. */
  giveBack(turn: Turn): void {
    this.#keep(this.#release(turn).then(nothing, nothing));
  }

  /** Calls that end turns, asked by the application: they may come through while the client is closed. */
  ending(asked: Promise<unknown>): void {
    this.#keep(asked.then(nothing, nothing));
  }

  /** Resolves when nothing is left to be given up, at the latest when the time for that is over. */
  async close(): Promise<void> {
    this.#isClosing = true;
    let callOff = nothing;
    const late = new Promise<void>((resolve) => {
      callOff = this.clock.after(2 * GIVING_UP_MS, resolve);
    });
    await Promise.race([this.#idle(), late]);
    callOff();
    this.#calls.close();
  }

  async #idle(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  #watch(asked: Promise<unknown>, leave: () => Promise<unknown>): void {
    this.#keep(
      asked
        .then(
          // An answer that came while the client was closed reached nobody who could still settle it.
          () => (this.#isClosing ? leave() : undefined),
          (error) => (isOurs(error) ? leave() : undefined),
        )
        .then(nothing, nothing),
    );
  }

  #keep(task: Promise<void>): void {
    this.#pending.add(task);
    void task.then(() => this.#pending.delete(task));
  }

  #release({ queue, key, token }: Turn): Promise<unknown> {
    const client = this.#coordinator;
    const call = requests.wireNack({ queue, key, token, kind: 'release', error: 'the call was given up' });
    return this.#calls.ask(client, client.nack, call, { timeout: GIVING_UP_MS });
  }
}

function nothing(): void {}

/** It was ended on this side: by its signal, its time-out, or the end of the client. The sidecar may have answered it. */
function isOurs(error: unknown): boolean {
  return error instanceof KeyturnError && (error.code === 'CANCELLED' || error.code === 'DEADLINE_EXCEEDED');
}
