/** Connections of clients that work over a session: they break, are noticed or not, and come back with its id. */
import assert from 'node:assert/strict';
import type { Calls, Coordinator, Notice, Result, Session, SessionListener, TurnRef } from '../../src/coordinator.js';
import { nackRequest } from '../support/builders.js';
import { Call } from '../support/call.js';
import type { FakeClock } from '../support/fake-clock.js';
import type { Ledger } from '../support/ledger.js';
import { observed } from '../support/observed.js';
import type { ItemsLedger } from './items-ledger.js';
import type { Chance } from './random.js';

export interface Line {
  readonly clock: FakeClock;
  readonly chance: Chance;
  readonly coordinator: Pick<Coordinator, 'openSession'>;
  readonly ledger: Ledger;
  readonly items: ItemsLedger;
  log(line: string): void;
  /** Turns that a session took back from its earlier stream. */
  tookBack(turns: number): void;
}

/** One stream, from its opening until it breaks. */
interface Open {
  readonly session: Session;
  readonly calls: Calls;
  readonly cancels: Set<() => void>;
}

/** The connection of one client. What was on its way when it broke is lost. */
export class Link {
  #open: Open | undefined;
  #ttl = 0;
  #ended = false;
  /** Turns that the client heard of: it ends them itself. */
  readonly #heard = new Set<number>();

  constructor(
    private readonly name: string,
    private readonly line: Line,
  ) {
    this.#connect();
  }

  /** The stream that is open now; unset: none is. */
  get current(): object | undefined {
    return this.#open;
  }

  get calls(): Calls {
    assert.ok(this.#open, 'what is sent without a connection is lost before it comes here');
    return this.#open.calls;
  }

  /** A call that came on the stream and may still wait. */
  opened(cancel: () => void): void {
    this.#open?.cancels.add(cancel);
  }

  heard(answer: unknown): void {
    JSON.stringify(answer, (field, value: unknown) => {
      if (field === 'token' && typeof value === 'number') this.#heard.add(value);
      return value instanceof Uint8Array ? undefined : value;
    });
  }

  /** The client is gone, or has nothing more to do. */
  end(): void {
    this.#ended = true;
    this.#break();
  }

  #connect(): void {
    if (this.#ended) return;
    const { line, name } = this;
    this.#ttl = line.chance.of(1_000, 4_000);
    const cancels = new Set<() => void>();
    const session = told(line.coordinator.openSession(this.#listener(cancels)));
    let said: string | undefined;
    const calls = observed(line.items.watch(session), line.ledger, line.clock, () => said);
    const hello = new Call<{ readonly turns: readonly TurnRef[] }>();
    session.hello({ consumerId: name, sessionId: name, ttl: this.#ttl }, hello);
    said = name;
    const { turns } = hello.value;
    line.log(`${name} is connected, ${turns.length} turns`);
    line.tookBack(turns.length);
    line.ledger.resumed(name, turns, line.clock.now());
    this.#open = { session, calls, cancels };
    // What the client never heard of nobody else will end.
    for (const turn of turns) if (!this.#heard.has(turn.token)) this.#release(calls, turn);
    line.clock.after(line.chance.int(2_000, 20_000), () => this.#trouble(session));
  }

  #listener(cancels: Set<() => void>): SessionListener {
    return {
      notice: (notice: Notice) => this.line.log(`${this.name} ${notice.kind} ${notice.turn.token}`),
      replaced: () => {
        for (const cancel of cancels) cancel();
      },
    };
  }

  #release(calls: Calls, { queue, key, token }: TurnRef): void {
    calls.nack(nackRequest({ queue, key, token, kind: 'release' }), new Call());
  }

  /** The coordinator sees it at once, or only when the next stream comes. */
  #trouble(session: Session): void {
    if (this.#open?.session !== session) return;
    const { chance, clock } = this.line;
    if (chance.in100(30)) {
      this.line.log(`${this.name} is replaced`);
      return this.#connect();
    }
    this.#break();
    clock.after(chance.in100(70) ? chance.int(1, 900) : chance.int(1_000, 6_000), () => this.#connect());
  }

  #break(): void {
    if (this.#open === undefined) return;
    const { session, cancels } = this.#open;
    this.#open = undefined;
    this.line.log(`${this.name} breaks`);
    for (const cancel of cancels) cancel();
    session.close();
    this.line.ledger.broke(this.name, this.line.clock.now() + this.#ttl);
  }
}

function told<T>(result: Result<T>): T {
  assert.ok(result.ok, 'there is room for another session');
  return result.value;
}
