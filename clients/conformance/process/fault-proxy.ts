/** Stands between clients and the sidecar, and does to their connections what a network does. */

import { once } from 'node:events';
import { connect as connectTo, createServer, type Server, type Socket } from 'node:net';

export type Direction = 'to_sidecar' | 'to_client';

interface Pair {
  readonly client: Socket;
  readonly sidecar: Socket;
}

/** Bytes that are kept back by {@link FaultProxy.silence} and {@link FaultProxy.holdAnswers}; beyond this the connection is cut, as by a network that drops. */
const MOST_HELD = 64 * 1_048_576;

export class FaultProxy {
  readonly #server: Server;
  readonly #target: { readonly host: string; readonly port: number };
  readonly #pairs = new Set<Pair>();
  /** Connections of which bytes are missing: they cannot go on. */
  readonly #gapped = new Set<Pair>();
  readonly #held: (() => void)[] = [];
  #heldBytes = 0;
  #refuses = false;
  #dropsAnswers = false;
  #isSilent = false;
  #holdsAnswers = false;
  #toSidecar = 0;
  #delay = 0;
  #cutAfter: { readonly direction: Direction; left: number } | undefined;
  #accepted = 0;

  private constructor(server: Server, target: { readonly host: string; readonly port: number }) {
    this.#server = server;
    this.#target = target;
    server.on('connection', (client) => this.#join(client));
  }

  static async start(target: string): Promise<FaultProxy> {
    const colon = target.lastIndexOf(':');
    const server = createServer({ noDelay: true });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new FaultProxy(server, { host: target.slice(0, colon), port: Number(target.slice(colon + 1)) });
  }

  get address(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the proxy does not listen');
    return `127.0.0.1:${address.port}`;
  }

  /** How many connections were let through so far. */
  get accepted(): number {
    return this.#accepted;
  }

  get open(): number {
    return this.#pairs.size;
  }

  /** How many bytes clients have sent, all of which are on their way to the sidecar unless it is silent. */
  get toSidecar(): number {
    return this.#toSidecar;
  }

  /** Ends every connection, now, as if the machine between had gone. */
  cut(): void {
    for (const pair of this.#pairs) this.#end(pair);
    this.#held.length = 0;
    this.#heldBytes = 0;
  }

  /** Cuts everything when so many more bytes have passed in one direction; exactly so many pass. */
  cutAfter(direction: Direction, bytes: number): void {
    this.#cutAfter = { direction, left: bytes };
  }

  /** What comes from the sidecar does not arrive: answers are lost, requests are carried out. */
  dropAnswers(): void {
    this.#dropsAnswers = true;
  }

  /** Nothing arrives, and nobody is told: bytes are kept until {@link heal} or {@link cut}. */
  silence(): void {
    this.#isSilent = true;
  }

  /**
   * What comes from the sidecar is kept until {@link heal}, then it arrives; requests arrive meanwhile. So an answer crosses
   * what was sent before it came, whatever that was: an answer that is known to be made, then the request, then healed.
   */
  holdAnswers(): void {
    this.#holdsAnswers = true;
  }

  /** New connections end at once. */
  refuse(): void {
    this.#refuses = true;
  }

  /** Every byte takes so much longer, ms. */
  delay(ms: number): void {
    this.#delay = ms;
  }

  /** All is well from now on. Connections that lost bytes are cut. */
  heal(): void {
    this.#refuses = false;
    this.#dropsAnswers = false;
    this.#isSilent = false;
    this.#holdsAnswers = false;
    this.#delay = 0;
    this.#cutAfter = undefined;
    for (const pair of this.#gapped) this.#end(pair);
    this.#heldBytes = 0;
    for (const forward of this.#held.splice(0)) forward();
  }

  async close(): Promise<void> {
    this.cut();
    if (!this.#server.listening) return;
    this.#server.close();
    await once(this.#server, 'close');
  }

  #join(client: Socket): void {
    if (this.#refuses) return void client.resetAndDestroy();
    this.#accepted += 1;
    const sidecar = connectTo({ ...this.#target, noDelay: true });
    const pair: Pair = { client, sidecar };
    this.#pairs.add(pair);
    this.#carry(pair, client, sidecar, 'to_sidecar');
    this.#carry(pair, sidecar, client, 'to_client');
  }

  #carry(pair: Pair, from: Socket, to: Socket, direction: Direction): void {
    from.on('data', (bytes: Buffer) => this.#take(pair, to, bytes, direction));
    from.on('end', () => this.#later(direction, () => to.end()));
    from.on('error', () => this.#end(pair));
    from.on('close', () => this.#later(direction, () => this.#end(pair)));
  }

  #take(pair: Pair, to: Socket, bytes: Buffer, direction: Direction): void {
    if (direction === 'to_client' && this.#dropsAnswers) return void this.#gapped.add(pair);
    const passing = this.#counted(bytes, direction);
    if (direction === 'to_sidecar') this.#toSidecar += passing.length;
    if (this.#holds(direction)) this.#heldBytes += passing.length;
    if (this.#heldBytes > MOST_HELD) return this.cut();
    this.#later(direction, () => to.write(passing));
    if (this.#cutAfter?.left !== 0) return;
    this.#cutAfter = undefined;
    // What was let through shall arrive: a connection that is reset loses what its end has not read.
    for (const { client, sidecar } of this.#pairs) {
      client.destroySoon();
      sidecar.destroySoon();
    }
  }

  #counted(bytes: Buffer, direction: Direction): Buffer {
    const cut = this.#cutAfter;
    if (cut === undefined || cut.direction !== direction) return bytes;
    const passing = bytes.subarray(0, cut.left);
    cut.left -= passing.length;
    return passing;
  }

  /** Now, after the delay, or when it is healed: in order. */
  #later(direction: Direction, forward: () => void): void {
    if (this.#holds(direction)) this.#held.push(forward);
    else if (this.#delay > 0) setTimeout(forward, this.#delay);
    else forward();
  }

  #holds(direction: Direction): boolean {
    return this.#isSilent || (this.#holdsAnswers && direction === 'to_client');
  }

  #end(pair: Pair): void {
    this.#pairs.delete(pair);
    this.#gapped.delete(pair);
    pair.client.destroy();
    pair.sidecar.destroy();
  }
}
