/** Which links there are at a home: what streams become a part of, and when a link is over. */
import { EndReason, type Open } from '../gen/keyturn/peer/v1/peer.js';
import { HANDSHAKE_WITHIN } from './handshake.js';
import type { Admission, Ending, Gate, HomeStream, LaneKind, StreamHost } from './home-stream.js';
import type { Lane } from './lane.js';
import { BROKEN_FOR } from './limits.js';
import type { ServedContext } from './served-context.js';
import { ServedLink } from './served-link.js';

/** Links at once: one for each other sidecar. */
const MOST_LINKS = 4_096;
/** Links that are over, whose gateway may come back and say what it had received; for how long, ms. */
const MOST_ENDED = 256;
const KEPT_FOR = 10_000;
/** ms */
const BETWEEN_LINES = 1_000;

export class LinkGate implements Omit<Gate, 'over'> {
  readonly #links = new Map<string, GatedLink>();
  readonly #ended = new Map<string, GatedLink>();
  #isStopping = false;
  #lineAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly context: ServedContext) {}

  get size(): number {
    return this.#links.size;
  }

  admit(stream: HomeStream, { open, kind }: Admission): { host: StreamHost; received: number; begin(): void } | Ending {
    if (this.#isStopping) return STOPPING;
    const id = nameOf(open.link);
    const known = this.#links.get(id);
    if (open.resumes && known === undefined) return OVER;
    if (known !== undefined) return known.join(stream, kind, open);
    for (const other of this.#links.values()) if (other.gateway === open.gateway) other.over(REPLACED);
    if (open.before !== undefined) this.#takeBack(open.before);
    if (this.#links.size >= MOST_LINKS) return TOO_MANY;
    const link = new GatedLink(this.context, { gateway: open.gateway, from: stream.from }, () =>
      this.#isOver(id, link),
    );
    this.#links.set(id, link);
    return link.join(stream, kind, open);
  }

  refused({ message }: Ending, open: Open | undefined): void {
    const now = performance.now();
    // Whoever reaches the port could fill the log.
    if (now - this.#lineAt < BETWEEN_LINES) return;
    this.#lineAt = now;
    this.context.log.warn({ gateway: open?.gateway, program: open?.program }, `a link was refused: ${message}`);
  }

  /** No more links; those that there are end. */
  stop(): void {
    this.#isStopping = true;
    for (const link of [...this.#links.values()]) link.over(STOPPING);
    this.#ended.clear();
  }

  #isOver(id: string, link: GatedLink): void {
    this.#links.delete(id);
    if (this.#isStopping) return;
    for (const oldest of this.#ended.keys()) if (this.#ended.size >= MOST_ENDED) this.#ended.delete(oldest);
    this.#ended.set(id, link);
    this.context.scheduler.after(KEPT_FOR, () => this.#ended.delete(id));
  }

  #takeBack({ link, small, large }: NonNullable<Open['before']>): void {
    const id = nameOf(link);
    const ended = this.#ended.get(id);
    this.#ended.delete(id);
    ended?.served.takeBack({ small: Number(small), large: Number(large) });
  }
}

class GatedLink implements StreamHost {
  readonly gateway: string;
  readonly served: ServedLink;
  readonly #streams: { small: HomeStream | undefined; large: HomeStream | undefined } = {
    small: undefined,
    large: undefined,
  };
  /** Lanes that have had a stream. */
  readonly #begun = new Set<LaneKind>();
  #callOff: (() => void) | undefined;
  #isOver = false;

  constructor(
    private readonly context: ServedContext,
    { gateway, from }: { readonly gateway: string; readonly from: string },
    private readonly onOver: () => void,
  ) {
    this.gateway = gateway;
    const listener = {
      malformed: (error: unknown) => this.#malformed(error),
      silent: (lane: Lane) => this.#silent(lane),
      tooMuch: (bytes: number) => this.#tooMuch(bytes),
    };
    this.served = new ServedLink(context, listener, from);
    this.#callOff = context.scheduler.after(HANDSHAKE_WITHIN, () => this.over(OVER));
  }

  join(stream: HomeStream, kind: LaneKind, open: Open): { host: StreamHost; received: number; begin(): void } | Ending {
    // A stream that begins a lane anew knows nothing of what was done on it.
    if (open.resumes !== this.#begun.has(kind)) return OVER;
    this.#begun.add(kind);
    this.#streams[kind]?.close(REPLACED);
    this.#streams[kind] = stream;
    const lane = this.served[kind];
    const begin = (): void => {
      if (this.#isOver || this.#streams[kind] !== stream) return;
      lane.attach(stream, Number(open.received));
      if (!this.served.small.isAttached || !this.served.large.isAttached) return;
      this.#callOff?.();
      this.#callOff = undefined;
    };
    return { host: this, received: lane.received, begin };
  }

  message(stream: HomeStream, bytes: Buffer): void {
    const kind = this.#kindOf(stream);
    if (kind !== undefined) this.served[kind].receive(bytes);
  }

  ended(stream: HomeStream, why: string, isFinal: boolean): void {
    const kind = this.#kindOf(stream);
    if (kind === undefined) return;
    this.#streams[kind] = undefined;
    this.served[kind].detach();
    if (isFinal) return this.over({ reason: EndReason.END_REASON_OVER, message: why });
    this.#callOff ??= this.context.scheduler.after(BROKEN_FOR, () => this.over(OVER));
  }

  over(ending: Ending): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#callOff?.();
    for (const kind of ['small', 'large'] as const) {
      this.#streams[kind]?.close(ending);
      this.#streams[kind] = undefined;
    }
    this.served.end();
    this.onOver();
  }

  #kindOf(stream: HomeStream): LaneKind | undefined {
    if (this.#streams.small === stream) return 'small';
    return this.#streams.large === stream ? 'large' : undefined;
  }

  #silent(lane: Lane): void {
    const kind = lane === this.served.small ? 'small' : 'large';
    const stream = this.#streams[kind];
    if (stream === undefined) return;
    const message = 'the gateway does not answer, though its connection stands';
    stream.close(undefined);
    this.ended(stream, message, false);
  }

  #malformed(error: unknown): void {
    const message = `what came is no message of a link: ${String(error)}`;
    this.context.log.warn({ gateway: this.gateway, err: error }, `a link ends: ${message}`);
    this.over({ reason: EndReason.END_REASON_MALFORMED, message });
  }

  #tooMuch(bytes: number): void {
    const message = `${bytes} bytes of answers wait for the gateway, which does not take them`;
    this.context.log.warn({ gateway: this.gateway }, `a link ends: ${message}`);
    // We may stand in the middle of a step of the port.
    this.context.scheduler.soon(() => this.over({ reason: EndReason.END_REASON_TOO_MUCH, message }));
  }
}

const STOPPING: Ending = { reason: EndReason.END_REASON_STOPPING, message: 'the home stops' };
const OVER: Ending = {
  reason: EndReason.END_REASON_OVER,
  message: 'the link was broken for too long, and its calls were cancelled',
};
const REPLACED: Ending = { reason: EndReason.END_REASON_OVER, message: 'the gateway has begun another link' };
const TOO_MANY: Ending = {
  reason: EndReason.END_REASON_TOO_MUCH,
  message: `no more than ${MOST_LINKS} sidecars may be linked to one`,
};

function nameOf(id: Uint8Array): string {
  return Buffer.from(id).toString('hex');
}
