/**
 * Who is connected. A probe must get in however many others came before it and say nothing: when all places are taken the
 * newest gets the place of the one that has been silent for longest.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export class Places {
  /** Without a request that is being answered; those that are silent for longest first. */
  readonly #silent = new Set<Socket>();
  /** With how many requests. */
  readonly #asking = new Map<Socket, number>();

  constructor(private readonly most: number) {}

  of(server: Server): void {
    server.on('connection', (socket: Socket) => this.#take(socket));
    server.prependListener('request', (request, response) => this.#asks(request, response));
  }

  #take(socket: Socket): void {
    this.#silent.add(socket);
    socket.once('close', () => {
      this.#silent.delete(socket);
      this.#asking.delete(socket);
    });
    // Where everybody is being answered the newcomer is the only silent one.
    const [longest = socket] = this.#silent;
    if (this.#silent.size + this.#asking.size > this.most) longest.destroy();
  }

  #asks({ socket }: IncomingMessage, response: ServerResponse): void {
    if (socket.destroyed) return;
    this.#silent.delete(socket);
    this.#asking.set(socket, (this.#asking.get(socket) ?? 0) + 1);
    response.once('close', () => this.#answered(socket));
  }

  #answered(socket: Socket): void {
    const others = (this.#asking.get(socket) ?? 1) - 1;
    if (others > 0) this.#asking.set(socket, others);
    else if (this.#asking.delete(socket) && !socket.destroyed) this.#silent.add(socket);
  }
}
