/** What stands in front of sidecars where a worker does not choose one. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Cleanup } from '../../support/redis.js';

/** As a service of Kubernetes: a connection goes to whichever lives. */
export class Balancer {
  /** A port. Unset: nobody is reached any more, and who was is cut off. */
  #target: number | undefined;
  readonly #sockets = new Set<Socket>();

  static async start(cleanup: Cleanup, target: number): Promise<{ balancer: Balancer; address: string }> {
    const balancer = new Balancer();
    balancer.#target = target;
    const server = createServer((from) => balancer.#carry(from));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    cleanup.after(() => {
      server.close();
      for (const socket of balancer.#sockets) socket.destroy();
    });
    // A server that listens on a port has such an address.
    const { port } = server.address() as AddressInfo;
    return { balancer, address: `127.0.0.1:${port}` };
  }

  /** From now on connections go there. */
  leadTo(target: number): void {
    this.#target = target;
  }

  cut(): void {
    this.#target = undefined;
    for (const socket of this.#sockets) socket.destroy();
  }

  #carry(from: Socket): void {
    if (this.#target === undefined) return void from.destroy();
    const to = connect(this.#target, '127.0.0.1');
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      this.#sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  }
}
