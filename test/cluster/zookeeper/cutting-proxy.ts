/** A proxy before a ZooKeeper that ends a connection at one request: before the server has it, or when the server has it and nobody hears. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { Frames } from '../../../src/cluster/zookeeper/frames.js';
import type { Cleanup } from '../../support/redis.js';

export class CuttingProxy {
  /** Requests so far, those that begin a session among them. */
  seen = 0;
  /** The one at which it is cut, from 1. */
  at = 0;
  how: 'before' | 'behind' = 'before';
  readonly #sockets = new Set<Socket>();

  private constructor(
    readonly port: number,
    private readonly target: number,
  ) {}

  static async start(cleanup: Cleanup, target: number): Promise<CuttingProxy> {
    const server = createServer((near) => proxy.#pass(near));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('a server on TCP has a port');
    const proxy = new CuttingProxy(address.port, target);
    cleanup.after(() => {
      server.close();
      for (const socket of proxy.#sockets) socket.destroy();
    });
    return proxy;
  }

  #pass(near: Socket): void {
    const far = connect({ host: '127.0.0.1', port: this.target, noDelay: true });
    const frames = new Frames();
    for (const socket of [near, far]) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    far.on('data', (bytes) => void near.write(bytes));
    near.on('data', (bytes) => {
      for (const frame of frames.take(bytes)) this.#request(near, far, frame);
    });
  }

  #request(near: Socket, far: Socket, frame: Buffer): void {
    if (near.destroyed) return;
    this.seen += 1;
    const isCut = this.seen === this.at;
    if (isCut) near.removeAllListeners('close');
    if (isCut) near.destroy();
    if (isCut && this.how === 'before') return void far.destroy();
    const head = Buffer.alloc(4);
    head.writeInt32BE(frame.length);
    far.write(Buffer.concat([head, frame]));
    // The server has done it when it answers.
    if (isCut) far.removeAllListeners('data').once('data', () => far.destroy());
  }
}
