import type { Coordinator, CoordinatorEvent, Refusal, Watch } from '../../coordinator.js';
import type { WireWriter } from '../session/codec/wire-writer.js';
import { readAdminCall, readWatch } from './ask-reader.js';
import { readAdminRequest } from './codec/admin.js';
import { TELL, writeBytes, writeNumbers } from './codec/entries.js';
import { toBytes } from './codec/shapes.js';
import { events as eventShape } from './codec/views.js';
import type { WireReader } from './codec/wire-reader.js';
import { LARGE_BYTES, MOST_OPEN } from './limits.js';
import { noHome, tooManyCalls } from './refusals.js';
import type { ServedAudit } from './served-audit.js';

interface Served {
  home(partition: number): Coordinator | undefined;
  refuse(id: number, refusal: Refusal): void;
  fail(id: number, error: unknown): void;
  tell(write: (out: WireWriter) => void): void;
  /** The gateway takes what it is told slowly: events stay where they are. */
  isBusy(): boolean;
  isOver(): boolean;
  /** Runs a task a little later. */
  later(task: () => void): void;
}

/** The most events in one message. */
const EVENTS = 500;
/** Of them, with room for their frame. */
const MOST_BYTES = LARGE_BYTES - 64;
const NONE = new Uint8Array(0);

/** The calls of people that a gateway sends, and its watches. */
export class ServedAdministration {
  readonly #watches = new Map<number, Watch>();
  readonly #open = new Set<number>();

  constructor(
    private readonly audit: ServedAudit,
    private readonly served: Served,
  ) {}

  get open(): number {
    return this.#open.size + this.#watches.size;
  }

  /**
   * @param open calls of all kinds
   * @param unlike set: nothing is taken, for that reason
   */
  ask(from: WireReader, open: number, unlike: string | undefined): void {
    const { id, partition, request, principal } = readAdminCall(from);
    const home = this.#homeFor(id, partition, open, unlike);
    if (home === undefined) return;
    this.#open.add(id);
    this.#answer(id, home, principal, request)
      .catch((error: unknown) => this.served.fail(id, error))
      .finally(() => this.#open.delete(id));
  }

  watch(from: WireReader, open: number, unlike: string | undefined): void {
    const { id, partition, queue, key, principal } = readWatch(from);
    const home = this.#homeFor(id, partition, open, unlike);
    if (home === undefined) return;
    const pump = new Pump(this.served, id);
    const begun = home.admin.watch(queue, key, pump, nameOf(principal));
    if (!begun.ok) return this.served.refuse(id, begun.refusal);
    this.#watches.set(id, begun.value);
    pump.onEnd = () => this.#watches.delete(id);
    pump.begin(begun.value);
  }

  endWatch(id: number): void {
    const watch = this.#watches.get(id);
    this.#watches.delete(id);
    watch?.stop();
  }

  end(): void {
    for (const watch of this.#watches.values()) watch.stop();
    this.#watches.clear();
  }

  async #answer(id: number, home: Coordinator, principal: string, request: Buffer): Promise<void> {
    const asked = readAdminRequest(request);
    const result = await asked.ask(home.admin, nameOf(principal)).catch((error: unknown) => {
      this.audit.asked(principal, asked, undefined);
      throw error;
    });
    this.audit.asked(principal, asked, result);
    if (this.served.isOver()) return;
    if (!result.ok) return this.served.refuse(id, result.refusal);
    const { value } = result;
    this.served.tell((out) => writeBytes(out, TELL.adminAnswers, id, value));
  }

  #homeFor(id: number, partition: number, open: number, unlike: string | undefined): Coordinator | undefined {
    const home = unlike === undefined ? this.served.home(partition) : undefined;
    const why = unlike ?? 'the sidecar that was asked is not its home';
    if (home === undefined) this.served.refuse(id, noHome(partition, why));
    else if (open >= MOST_OPEN) this.served.refuse(id, tooManyCalls(MOST_OPEN));
    else return home;
    return undefined;
  }
}

/** On the link the empty name stands for none. */
function nameOf(principal: string): string | undefined {
  return principal === '' ? undefined : principal;
}

/** From the bounded buffer of a watch to its gateway, no faster than the gateway reads. */
class Pump {
  onEnd: () => void = () => undefined;
  #watch: Watch | undefined;
  #waits = false;

  constructor(
    private readonly served: Served,
    private readonly id: number,
  ) {}

  begin(watch: Watch): void {
    this.#watch = watch;
    this.wake();
  }

  readonly wake = (): void => {
    const watch = this.#watch;
    if (watch === undefined || this.#waits) return;
    while (!this.served.isOver()) {
      if (this.served.isBusy()) return this.#wait();
      const { events, missed } = watch.take();
      if (events.length === 0 && missed === 0) return;
      for (let from = 0; from < events.length; from += EVENTS) this.#tell(events.slice(from, from + EVENTS));
      if (missed > 0) this.served.tell((out) => writeBytes(out, TELL.events, this.id, NONE, missed));
    }
  };

  /** In messages for the small lane: what follows would overtake a large one. */
  #tell(events: readonly CoordinatorEvent[]): void {
    const bytes = toBytes(eventShape, events);
    if (bytes.length > MOST_BYTES && events.length > 1) {
      const half = Math.ceil(events.length / 2);
      this.#tell(events.slice(0, half));
      this.#tell(events.slice(half));
    } else this.served.tell((out) => writeBytes(out, TELL.events, this.id, bytes));
  }

  end(): void {
    this.#watch = undefined;
    this.onEnd();
    this.served.tell((out) => writeNumbers(out, TELL.watchEnds, this.id));
  }

  #wait(): void {
    this.#waits = true;
    this.served.later(() => {
      this.#waits = false;
      this.wake();
    });
  }
}
