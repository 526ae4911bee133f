/** The connections of a server with TLS, also those that are not yet through their handshake: grpc-js does not know them. */
import type { Socket } from 'node:net';
import type { Server } from '@grpc/grpc-js';
import type { Log } from '../call/handler.js';
import { listenersOf } from '../call/transport.js';
import { RefusedHandshakes } from './refused-handshakes.js';

export class TlsConnections {
  /** As many as the listener has. */
  readonly #open = new Set<Socket>();

  /** @param server one that listens */
  constructor(server: Server, log: Log) {
    const refused = new RefusedHandshakes(log);
    for (const listener of listenersOf(server)) {
      listener.on('tlsClientError', (error: Error, socket: Pick<Socket, 'remoteAddress'>) =>
        refused.report(error, socket.remoteAddress),
      );
      listener.on('connection', (socket: Socket) => {
        this.#open.add(socket);
        socket.once('close', () => this.#open.delete(socket));
      });
    }
  }

  /** After the server has ended its own: what comes through its handshake only now would be served for ever. */
  endAll(): void {
    for (const socket of this.#open) socket.destroy();
  }
}
