/** What a leader does in each phase: as the request says it, told by events, and noted where all players do. */
import { appendFileSync } from 'node:fs';
import { HandOverAsked, type Keyturn, type LeaderCareer, type Leadership, TermLostError } from '@keyturn/client';
import { shownBytes } from './bytes.js';
import {
  type Fields,
  fieldsOf,
  isFields,
  optionalFlag,
  optionalNumber,
  optionalText,
  optionalWord,
  text,
  WrongRequest,
} from './fields.js';
import { shownError } from './shown-error.js';
import type { Tell } from './work.js';

type Phase = 'inaugurate' | 'execute' | 'hand_over';

/** A phase that is held. */
interface Held {
  finish(outcome: Fields): void;
}

export class Leading {
  readonly #leadership: Leadership;
  readonly #handle: string;
  readonly #career: Fields;
  readonly #group: string;
  #held: Held | undefined;

  constructor(
    client: Keyturn,
    request: Fields,
    private readonly tell: Tell,
  ) {
    this.#handle = text(request, 'handle');
    this.#group = text(request, 'group');
    this.#career = isFields(request['career']) ? request['career'] : {};
    const metadata = request['metadata'];
    this.#leadership = client.lead(this.#group, this.#performed(), {
      candidateId: optionalText(request, 'candidate_id'),
      ttl: optionalNumber(request, 'ttl_ms'),
      margin: optionalNumber(request, 'margin_ms'),
      inaugurateTimeout: optionalNumber(request, 'inaugurate_timeout_ms'),
      handOverTimeout: optionalNumber(request, 'hand_over_timeout_ms'),
      metadata: metadata === undefined ? undefined : (fieldsOf(metadata, 'metadata') as Record<string, string>),
      progress: optionalWord<'timer' | 'manual'>(request, 'progress'),
      once: optionalFlag(request, 'once'),
    });
    this.#leadership.ended.then(
      () => this.#event('withdrawn', {}),
      (error: unknown) => this.#event('failed', { error: shownError(error) }),
    );
  }

  finish(outcome: Fields): void {
    if (this.#held === undefined) throw new WrongRequest(`no phase of ${this.#handle} is held`);
    this.#held.finish(outcome);
  }

  yield(): Fields {
    this.#leadership.yield();
    return {};
  }

  async withdraw(request: Fields): Promise<Fields> {
    await this.#leadership.stop({ timeout: optionalNumber(request, 'timeout_ms') });
    return {};
  }

  #performed(): LeaderCareer {
    return {
      inaugurate: async (term, { candidateId, term: before, how, state }, signal) => {
        const predecessor = { candidate_id: candidateId, term: before, how, state: shownBytes(state) };
        await this.#phase('inaugurate', term, signal, { predecessor });
      },
      execute: async (term, signal, { lost }) => {
        this.#tellLoss(term, lost);
        await this.#phase('execute', term, signal, {});
      },
      handOver: async (reason, _deadline, lost) => {
        const term = this.#leadership.term ?? 0;
        const outcome = await this.#phase('hand_over', term, lost, { reason });
        return optionalText(outcome, 'state');
      },
    };
  }

  async #phase(phase: Phase, term: number, signal: AbortSignal, more: Fields): Promise<Fields> {
    const plan = isFields(this.#career[phase]) ? this.#career[phase] : {};
    // Known as held before it is told.
    const outcome = plan['held'] === true || (phase === 'execute' && plan['does'] === undefined);
    const held = outcome ? this.#hold(signal, plan['ignores_loss'] === true) : undefined;
    this.#note('start', phase, term);
    this.#event('phase', { phase, term, ...more });
    if (phase !== 'execute') this.#tellLoss(term, signal);
    const blocked = optionalNumber(plan, 'blocks_ms');
    if (blocked !== undefined) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, blocked);
    try {
      const done = (await held) ?? fieldsOf(plan['does'] ?? {}, 'does');
      const message = optionalText(done, 'throw');
      if (message !== undefined) throw new Error(message);
      return done;
    } finally {
      this.#held = undefined;
      this.#note('end', phase, term);
      this.#event('phase_ended', { phase, term });
    }
  }

  /** Until `finish`, or until the phase is told to stop; one that ignores that until `finish` alone. */
  #hold(signal: AbortSignal, ignoresLoss: boolean): Promise<Fields> {
    return new Promise((resolve) => {
      this.#held = { finish: resolve };
      if (ignoresLoss) return;
      if (signal.aborted) resolve({});
      else signal.addEventListener('abort', () => resolve({}), { once: true });
    });
  }

  #tellLoss(term: number, signal: AbortSignal): void {
    const aborted = (): void => {
      const { reason } = signal;
      if (reason instanceof TermLostError) this.#event('lost', { term, cause: reason.loss });
      else if (!(reason instanceof HandOverAsked)) this.#event('told_to_stop', { term });
    };
    if (signal.aborted) aborted();
    else signal.addEventListener('abort', aborted, { once: true });
  }

  #event(event: string, fields: Fields): void {
    this.tell({ event, handle: this.#handle, ...fields });
  }

  /** Appended in one write, so that lines of several processes do not mix. */
  #note(what: 'start' | 'end', phase: Phase, term: number): void {
    const ledger = optionalText(this.#career, 'ledger');
    if (ledger === undefined) return;
    appendFileSync(ledger, `${[what, phase, this.#group, term, this.#leadership.candidateId].join('\t')}\n`);
  }
}
