/** A proxy that loses what goes through it, one way or both, and keeps its connections open. */
import type { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Cleanup } from '../redis.js';
import type { Cut } from './fake-wire.js';

export class LossyProxy {
  cut: Cut = undefined;
  /** Set: what is cut are only connections on which this was said. */
  cutOnly: string | undefined;
  /** Bytes that were lost so far. */
  lost = 0;
  /** What is made of answers on their way; unset: they pass as they are. */
  rewrite: ((bytes: Buffer) => Buffer) | undefined;
  readonly #sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    /** Where connections go from now on. */
    public target: number,
  ) {}

  static async start(cleanup: Cleanup, target: number): Promise<LossyProxy> {
    const server = createServer();
    const proxy = new LossyProxy(server, target);
    server.on('connection', (near) => {
      const far = connect({ host: '127.0.0.1', port: proxy.target, noDelay: true });
      const wire = { said: false };
      proxy.#pass(near, far, 'requests', wire);
      proxy.#pass(far, near, 'answers', wire);
    });
    cleanup.after(() => proxy.close());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get port(): number {
    const address = this.server.address();
    if (address === null || typeof address === 'string') throw new Error('a server on TCP has a port');
    return address.port;
  }

  /** All connections end. */
  drop(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.server.close();
    this.drop();
  }

  #pass(from: Socket, to: Socket, what: 'requests' | 'answers', wire: { said: boolean }): void {
    this.#sockets.add(from);
    from.setNoDelay(true);
    from.on('data', (bytes) => {
      if (this.cutOnly !== undefined && what === 'requests') wire.said ||= bytes.includes(this.cutOnly);
      const isCut = this.cutOnly === undefined || wire.said;
      if (isCut && (this.cut === what || this.cut === 'both')) this.lost += bytes.length;
      else to.write(what === 'answers' && this.rewrite !== undefined ? this.rewrite(bytes) : bytes);
    });
    from.on('error', () => undefined);
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }
}
