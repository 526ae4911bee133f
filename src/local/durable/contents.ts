import type {
  AcquireAnswer,
  DeadLetterPage,
  DeliveredItem,
  Delivery,
  ItemReport,
  KeyExplanation,
  Result,
  TracedView,
  Turn,
} from '../../coordinator.js';
import type { Effect } from '../../core/core.js';
import { type Journal, JournalError } from '../journal/journal.js';
import { storeUnavailable } from './availability.js';

/** What is done with turns whose items cannot be read. */
interface Unreadable {
  /** No worker learnt of the turn; it can be given again. */
  giveBack(turn: Turn): void;
  /** It would be as unreadable the next time. */
  makeDeadLetter(turn: Turn, why: string): void;
}

/** Items of which the trace is read for one question. */
const MOST_TRACED = 10;

/** Items of durable queues travel through the core without what they carry. Here it is read from the disk again. */
export class Contents {
  constructor(
    private readonly journal: Journal,
    private readonly unreadable: Unreadable,
  ) {}

  /** The effect with its items whole; if one of them cannot be read, another effect in its place. */
  fill(effect: Effect): Effect {
    if (effect.kind === 'acquire') {
      const filled = this.#fill(effect.answer);
      if (filled instanceof Error) return { kind: 'refuse', to: effect.to, refusal: unreadable(filled) };
      return filled === effect.answer ? effect : { ...effect, answer: filled };
    }
    if (effect.kind !== 'ack' || effect.answer.next === undefined) return effect;
    const { followUps, next } = effect.answer;
    const filled = this.#fill(next);
    if (filled === next) return effect;
    // The Ack itself was accepted, whatever becomes of its `next` (S19).
    const answer = { followUps, next: filled instanceof Error ? { deliveries: [] } : filled };
    return { ...effect, answer };
  }

  page(page: DeadLetterPage): Result<DeadLetterPage> {
    if (page.deadLetters.every(({ item }) => item.stored === undefined)) return { ok: true, value: page };
    try {
      const deadLetters = page.deadLetters.map((letter) => ({ ...letter, item: this.#item(letter.item) }));
      return { ok: true, value: { ...page, deadLetters } };
    } catch (error) {
      return { ok: false, refusal: unreadable(asError(error)) };
    }
  }

  /** The report with what the item carries. */
  itemReport(report: ItemReport): Result<ItemReport> {
    const { item } = report;
    if (item?.stored === undefined) return { ok: true, value: report };
    try {
      return { ok: true, value: { ...report, item: this.#item(item) } };
    } catch (error) {
      return { ok: false, refusal: unreadable(asError(error)) };
    }
  }

  /** Whose traces the items belong to, as far as that can be read: a key is explained without, too. */
  explained(view: KeyExplanation): KeyExplanation {
    const { line, holder } = view;
    const traced = line.map((entry, at) => this.#traced(entry, at));
    const carried = holder?.carried?.map((item, at) => this.#traced(item, at));
    return { ...view, line: traced, holder: holder && { ...holder, carried } };
  }

  /** Each is read whole, with its payload: of many only the first. */
  #traced<T extends TracedView>(view: T, at: number): T {
    const { stored } = view;
    if (stored === undefined) return view;
    let traceparent: string | undefined;
    if (at < MOST_TRACED) {
      try {
        traceparent = this.journal.content(stored).headers?.get('traceparent');
      } catch {
        // Whoever acquires the item is told.
      }
    }
    return { ...view, traceparent, stored: undefined };
  }

  #fill(answer: AcquireAnswer): AcquireAnswer | Error {
    if (answer.deliveries.every(isWhole)) return answer;
    let at: Delivery | undefined;
    try {
      const deliveries = answer.deliveries.map((delivery) => {
        at = delivery;
        return isWhole(delivery) ? delivery : { ...delivery, items: delivery.items.map((item) => this.#item(item)) };
      });
      return { deliveries };
    } catch (error) {
      this.#endTurns(answer.deliveries, at, asError(error));
      return asError(error);
    }
  }

  #endTurns(deliveries: readonly Delivery[], at: Delivery | undefined, error: Error): void {
    const isForGood = !(error instanceof JournalError) || error.problem !== 'io';
    for (const delivery of deliveries) {
      if (delivery === at && isForGood) this.unreadable.makeDeadLetter(delivery.turn, error.message);
      else this.unreadable.giveBack(delivery.turn);
    }
  }

  #item(item: DeliveredItem): DeliveredItem {
    const { stored, ...rest } = item;
    return stored === undefined ? item : { ...rest, ...this.journal.content(stored) };
  }
}

function isWhole({ items }: Delivery): boolean {
  return items.every(({ stored }) => stored === undefined);
}

function unreadable(error: Error) {
  return storeUnavailable(`what an item carries cannot be read: ${error.message}`);
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
