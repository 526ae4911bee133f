/** The streams of one side of a scenario: which are open, and what they were told unasked. */
import assert from 'node:assert/strict';
import type { Calls, Coordinator, HelloAnswer, Notice, Session, SessionListener } from '../../src/coordinator.js';
import type { Call } from '../support/call.js';
import type { FakeClock } from '../support/fake-clock.js';
import type { Ledger } from '../support/ledger.js';
import { observed } from '../support/observed.js';
import { SESSIONS, type SessionName, type Slot } from './commands.js';
import { turnsIn } from './turns-in.js';

/** What was told, and when. */
interface Noticed {
  readonly at: number;
  readonly notice: Notice;
}

class Stream implements SessionListener {
  readonly notices: Noticed[] = [];
  replacements = 0;
  session: SessionName | undefined;
  /** Calls that came on it. */
  readonly made: Call<unknown>[] = [];

  constructor(private readonly clock: FakeClock) {}

  notice(notice: Notice): void {
    assert.equal(this.replacements, 0, 'nothing follows once it was replaced');
    this.notices.push({ at: this.clock.now(), notice });
  }

  replaced(): void {
    this.replacements += 1;
    assert.equal(this.replacements, 1, 'told once');
  }
}

interface Open {
  readonly stream: Stream;
  readonly port: Session;
  readonly calls: Calls;
}

export class Streams {
  readonly #open = new Map<Slot, Open>();
  readonly #all: Stream[] = [];

  constructor(
    private readonly coordinator: Calls & Pick<Coordinator, 'openSession'>,
    private readonly clock: FakeClock,
    /** Of the real side; the model is believed. */
    private readonly ledger: Ledger | undefined,
  ) {}

  /** The calls of this place, and who remembers that one was made there. */
  on(slot: Slot | undefined): { readonly calls: Calls; readonly made: Call<unknown>[] } {
    const open = slot === undefined ? undefined : this.#open.get(slot);
    if (open === undefined) return { calls: this.#observed(this.coordinator, () => undefined), made: [] };
    return { calls: open.calls, made: open.stream.made };
  }

  open(slot: Slot): void {
    if (this.#open.has(slot)) return;
    const stream = new Stream(this.clock);
    const opened = this.coordinator.openSession(stream);
    assert.ok(opened.ok);
    this.#all.push(stream);
    const calls = this.#observed(opened.value, () => stream.session);
    this.#open.set(slot, { stream, port: opened.value, calls });
  }

  hello(slot: Slot, session: SessionName, call: Call<HelloAnswer>): void {
    const open = this.#open.get(slot);
    if (open === undefined) return;
    open.port.hello({ consumerId: 'c0', sessionId: session, ttl: SESSIONS[session] }, call);
    const { outcome } = call;
    if (outcome === undefined || !('answer' in outcome)) return;
    open.stream.session = session;
    this.ledger?.resumed(session, outcome.answer.turns, this.clock.now());
  }

  break(slot: Slot, unsent: boolean): void {
    const open = this.#open.get(slot);
    if (open === undefined) return;
    this.#open.delete(slot);
    const { stream, port } = open;
    this.#leave(stream);
    port.close();
    if (stream.session !== undefined) this.ledger?.broke(stream.session, this.clock.now() + SESSIONS[stream.session]);
    if (unsent) this.#lose(stream, port);
  }

  /** Whoever was replaced has no stream any more. To be called after every command. */
  tidy(): void {
    for (const [slot, { stream, port }] of this.#open) {
      if (stream.replacements === 0) continue;
      this.#open.delete(slot);
      this.#leave(stream);
      port.close();
    }
  }

  /** Of every stream there was, from the `after[stream]`th on. What comes in one moment comes in any order. */
  notices(after: readonly number[]): readonly (readonly Noticed[])[] {
    return this.#all.map(({ notices }, index) => notices.slice(after[index]).sort(inOrder));
  }

  #leave({ made }: Stream): void {
    for (const call of made) if (call.open) call.cancel();
  }

  #lose({ made }: Stream, port: Session): void {
    const answered = made.findLast((call) => call.deliverable && turnsIn(call.outcome).length > 0);
    const turns = turnsIn(answered?.outcome);
    for (const turn of turns) this.ledger?.claimEnd(turn, 'lost answer');
    port.undeliverable(turns);
  }

  #observed(calls: Calls, session: () => string | undefined): Calls {
    return this.ledger === undefined ? calls : observed(calls, this.ledger, this.clock, session);
  }
}

function inOrder(one: Noticed, other: Noticed): number {
  if (one.at !== other.at) return one.at - other.at;
  return nameOf(one) < nameOf(other) ? -1 : 1;
}

function nameOf({ notice: { kind, turn } }: Noticed): string {
  return `${turn.queue}/${turn.key} ${kind}`;
}
