import { EndReason, Lane as LaneName, LinkRequest, LinkResponse, type Open } from '../gen/keyturn/peer/v1/peer.js';
import type { Scheduler } from '../session/flow.js';
import type { DialedStream, DialListener } from './dial.js';
import {
  asEnd,
  commonVersion,
  HANDSHAKE_BYTES,
  HANDSHAKE_WITHIN,
  isProof,
  NEWEST,
  NONCE_BYTES,
  nonce,
  OLDEST,
  proofOf,
} from './handshake.js';
import type { LaneStream } from './lane.js';

export interface Ending {
  readonly reason: EndReason;
  readonly message: string;
}

export type LaneKind = 'small' | 'large';

/** What a stream that has shown that it belongs to the cluster becomes a part of. */
export interface StreamHost {
  message(stream: HomeStream, bytes: Buffer): void;
  /** It broke, or the gateway ended the link for good. */
  ended(stream: HomeStream, why: string, isFinal: boolean): void;
}

interface HomeContext {
  readonly scheduler: Scheduler;
  readonly secret: string;
  readonly incarnation: string;
  /** Of the program. */
  readonly version: string;
}

/** What a stream asks for, when it is known that it may. */
export interface Admission {
  readonly open: Open;
  readonly kind: LaneKind;
}

export interface Gate {
  /**
   * @returns what the stream belongs to, and the last message of its gateway that had come in; or why it may not.
   * `begin` is called when the gateway has been told.
   */
  admit(stream: HomeStream, admission: Admission): { host: StreamHost; received: number; begin(): void } | Ending;
  /** The other side is not of this cluster, or another mistake that people have to know of. */
  refused(ending: Ending, open: Open | undefined): void;
  /** Once for each stream. */
  over(stream: HomeStream): void;
}

const NO_MORE = (): void => undefined;
const LEAST_ID_BYTES = 16;
const MOST_ID_BYTES = 64;

/** One stream of a lane, on the side of the home: its handshake, and then its messages. */
export class HomeStream implements LaneStream, DialListener {
  #stage: 'new' | 'challenged' | 'ready' | 'over' = 'new';
  #open: Open | undefined;
  #challenge: { readonly nonce: Uint8Array; readonly version: number } | undefined;
  #host: StreamHost | undefined;
  readonly #callOff: () => void;

  constructor(
    private readonly stream: DialedStream,
    private readonly context: HomeContext,
    private readonly gate: Gate,
  ) {
    this.#callOff = context.scheduler.after(HANDSHAKE_WITHIN, () =>
      this.#refuse(EndReason.END_REASON_UNSPECIFIED, `the handshake was not finished within ${HANDSHAKE_WITHIN} ms`),
    );
  }

  get isProved(): boolean {
    return this.#stage === 'ready';
  }

  /** The address of the gateway. */
  get from(): string {
    return this.stream.from ?? '';
  }

  send(message: Buffer, left: () => void): void {
    if (this.#stage === 'ready') this.stream.send(message, left);
  }

  /** The host hears nothing of it. */
  close(why: Ending | undefined): void {
    if (this.#stage === 'over') return;
    if (why !== undefined) this.#send({ end: why });
    this.#stage = 'over';
    this.#callOff();
    this.stream.end();
    this.gate.over(this);
  }

  message(bytes: Buffer): void {
    if (this.#stage === 'over') return;
    try {
      const end = asEnd(bytes, (message) => LinkRequest.decode(message).end);
      if (end !== undefined) this.#ended(end.message, true);
      else if (this.#stage === 'ready') this.#host?.message(this, bytes);
      else this.#handshake(bytes);
    } catch (error) {
      this.#refuse(EndReason.END_REASON_MALFORMED, `what came is no message of a link: ${String(error)}`);
    }
  }

  ended(why: string): void {
    this.#ended(why, false);
  }

  #ended(why: string, isFinal: boolean): void {
    if (this.#stage === 'over') return;
    this.close(undefined);
    this.#host?.ended(this, why, isFinal);
  }

  #handshake(bytes: Buffer): void {
    if (bytes.length > HANDSHAKE_BYTES) throw new RangeError(`${bytes.length} bytes in a handshake`);
    const { open, proof } = LinkRequest.decode(bytes);
    if (this.#stage === 'new' && open !== undefined) this.#begin(open);
    else if (this.#stage === 'challenged' && proof !== undefined) this.#admit(proof.proof);
    else throw new RangeError('another message of the handshake was expected');
  }

  #begin(open: Open): void {
    const { secret, incarnation, version: program } = this.context;
    const version = commonVersion(open);
    this.#open = open;
    if (version === undefined) {
      const spoken = `this sidecar speaks the versions ${OLDEST} to ${NEWEST} of the link, the gateway ${open.oldest} to ${open.newest}`;
      return this.#refuse(EndReason.END_REASON_NO_COMMON_VERSION, `${spoken}: upgrade one release at a time`);
    }
    if (open.home !== incarnation) {
      const what = `the sidecar at this address is the incarnation ${incarnation}, not ${shown(open.home)}`;
      return this.#refuse(
        EndReason.END_REASON_WRONG_INCARNATION,
        `${what}: it was started again, or another one is there`,
      );
    }
    if (open.nonce.length !== NONCE_BYTES) throw new RangeError(`a nonce of ${open.nonce.length} bytes`);
    if (open.link.length < LEAST_ID_BYTES || open.link.length > MOST_ID_BYTES)
      throw new RangeError('the id of the link');
    laneOf(open.lane);
    const challenge = { version, program, nonce: nonce() };
    this.#challenge = challenge;
    this.#stage = 'challenged';
    this.#send({ challenge: { ...challenge, proof: proofOf('home', secret, open, challenge) } });
  }

  #admit(proof: Uint8Array): void {
    const open = this.#open;
    const challenge = this.#challenge;
    if (open === undefined || challenge === undefined) throw new RangeError('a proof before its challenge');
    if (!isProof(proof, proofOf('gateway', this.context.secret, open, challenge))) {
      const message = 'the gateway does not know the secret of this cluster: it belongs to another one';
      return this.#refuse(EndReason.END_REASON_WRONG_SECRET, message);
    }
    const admitted = this.gate.admit(this, { open, kind: laneOf(open.lane) });
    if ('reason' in admitted) return this.#refuse(admitted.reason, admitted.message);
    this.#callOff();
    this.#stage = 'ready';
    this.#host = admitted.host;
    this.#send({ ready: { received: BigInt(admitted.received) } });
    admitted.begin();
  }

  #refuse(reason: EndReason, message: string): void {
    if (this.#stage === 'over') return;
    const ending = { reason, message };
    const host = this.#host;
    this.close(ending);
    if (host === undefined) this.gate.refused(ending, this.#open);
    else host.ended(this, message, true);
  }

  #send(message: Partial<LinkResponse>): void {
    const bytes = LinkResponse.encode({ ...EMPTY, ...message }).finish();
    this.stream.send(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), NO_MORE);
  }
}

const EMPTY: LinkResponse = LinkResponse.decode(new Uint8Array(0));
const SHOWN = 64;

function shown(name: string): string {
  return JSON.stringify(name.slice(0, SHOWN));
}

function laneOf(lane: LaneName): LaneKind {
  if (lane === LaneName.LANE_SMALL) return 'small';
  if (lane === LaneName.LANE_LARGE) return 'large';
  throw new RangeError(`lane ${lane} is not allowed; allowed: 1 and 2`);
}
