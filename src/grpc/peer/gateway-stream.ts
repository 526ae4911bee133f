import { EndReason, LinkRequest, LinkResponse, type Open } from '../gen/keyturn/peer/v1/peer.js';
import type { Scheduler } from '../session/flow.js';
import type { Dial, DialedStream } from './dial.js';
import { asEnd, commonVersion, HANDSHAKE_BYTES, HANDSHAKE_WITHIN, isProof, proofOf } from './handshake.js';
import type { LaneStream } from './lane.js';

interface GatewayStreamListener {
  /** @param received the last message of ours that had come in before a stream broke */
  ready(stream: LaneStream, received: number): void;
  message(bytes: Buffer): void;
  /** Once; nothing follows. @param isFinal the home does not want this link to go on */
  ended(why: string, isFinal: boolean): void;
}

const NO_MORE = (): void => undefined;

/** One stream of a lane, on the side of the gateway: its handshake, and then its messages. */
export class GatewayStream implements LaneStream {
  readonly #stream: DialedStream;
  #stage: 'open' | 'proof' | 'ready' | 'over' = 'open';
  #callOff: () => void;

  constructor(
    dial: Dial,
    private readonly address: string,
    private readonly open: Open,
    private readonly secret: string,
    scheduler: Scheduler,
    private readonly listener: GatewayStreamListener,
  ) {
    this.#callOff = scheduler.after(HANDSHAKE_WITHIN, () =>
      this.#end(`the sidecar at ${address} did not answer the handshake within ${HANDSHAKE_WITHIN} ms`, false),
    );
    this.#stream = dial(address, {
      message: (bytes) => this.#message(bytes),
      ended: (why) => this.#over(why, false),
    });
    if (this.#stage === 'open') this.#send({ open });
  }

  get isOver(): boolean {
    return this.#stage === 'over';
  }

  send(message: Buffer, left: () => void): void {
    if (this.#stage === 'ready') this.#stream.send(message, left);
  }

  /** The listener hears nothing of it. */
  close(why?: { readonly reason: EndReason; readonly message: string }): void {
    if (this.#stage === 'over') return;
    if (why !== undefined) this.#send({ end: why });
    this.#stage = 'over';
    this.#callOff();
    this.#stream.end();
  }

  #message(bytes: Buffer): void {
    try {
      const end = asEnd(bytes, (message) => LinkResponse.decode(message).end);
      if (end !== undefined) this.#end(end.message, true);
      else if (this.#stage === 'ready') this.listener.message(bytes);
      else if (this.#stage !== 'over') this.#handshake(bytes);
    } catch (error) {
      this.#end(`the sidecar at ${this.address} sent what is no message of a link: ${String(error)}`, true);
    }
  }

  #handshake(bytes: Buffer): void {
    if (bytes.length > HANDSHAKE_BYTES) throw new RangeError(`${bytes.length} bytes in a handshake`);
    const { challenge, ready } = LinkResponse.decode(bytes);
    if (this.#stage === 'open' && challenge !== undefined) {
      const common = commonVersion({ oldest: challenge.version, newest: challenge.version });
      if (common === undefined) throw new RangeError(`version ${challenge.version} of the protocol`);
      if (!isProof(challenge.proof, proofOf('home', this.secret, this.open, challenge))) {
        const why = `the sidecar at ${this.address} does not know the secret of this cluster: it belongs to another one`;
        return this.#end(why, true, { reason: EndReason.END_REASON_WRONG_SECRET, message: why });
      }
      this.#stage = 'proof';
      this.#send({ proof: { proof: proofOf('gateway', this.secret, this.open, challenge) } });
    } else if (this.#stage === 'proof' && ready !== undefined) {
      this.#stage = 'ready';
      this.#callOff();
      this.listener.ready(this, Number(ready.received));
    } else throw new RangeError('another message of the handshake was expected');
  }

  #send(message: Partial<LinkRequest>): void {
    const bytes = LinkRequest.encode({ ...EMPTY, ...message }).finish();
    this.#stream.send(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), NO_MORE);
  }

  #end(why: string, isFinal: boolean, tell?: { readonly reason: EndReason; readonly message: string }): void {
    if (this.#stage === 'over') return;
    this.close(tell);
    this.listener.ended(why, isFinal);
  }

  #over(why: string, isFinal: boolean): void {
    if (this.#stage === 'over') return;
    this.#stage = 'over';
    this.#callOff();
    this.listener.ended(why, isFinal);
  }
}

const EMPTY: LinkRequest = LinkRequest.decode(new Uint8Array(0));
