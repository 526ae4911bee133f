/**
 * Who is connected. A probe must get in however many others came before it and say nothing: when all places are taken the
 * newest gets the place of the one that has been silent for longest, or else of who has been answered for longest.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests of one connection that are sent before the first is answered. No scraper does it; each costs some KiB. */
const MOST_AHEAD = 8;

export class Places {
  /** Without a request that is being answered; those that are silent for longest first. */
  readonly #silent = new Set<Socket>();
  /** With how many requests. */
  readonly #asking = new Map<Socket, number>();
  /** Of those with requests: who gives their place to nobody. */
  readonly #staying = new Set<Socket>();
  /** By their ends. Over TLS requests come by another socket than the one that connected. */
  readonly #connected = new Map<string, Socket>();

  constructor(private readonly most: number) {}

  of(server: Server): void {
    server.on('connection', (socket: Socket) => this.#take(socket));
    server.prependListener('request', (request, response) => this.#asks(request, response));
  }

  /**
   * Who makes this request is known, and is being answered for long: strangers in crowds do not take the place, until it is
   * answered. Whoever calls this bounds how many there are.
   */
  stays(request: IncomingMessage): void {
    const socket = this.#placeOf(request.socket);
    if (socket !== undefined && this.#asking.has(socket)) this.#staying.add(socket);
  }

  #take(socket: Socket): void {
    this.#silent.add(socket);
    const ends = endsOf(socket);
    this.#connected.set(ends, socket);
    socket.once('close', () => {
      if (this.#connected.get(ends) === socket) this.#connected.delete(ends);
      this.#silent.delete(socket);
      this.#asking.delete(socket);
      this.#staying.delete(socket);
    });
    if (this.#silent.size + this.#asking.size > this.most) this.#longest(socket).destroy();
  }

  /** Where everybody else is being answered: who asked first. It may be one that does not read. */
  #longest(newcomer: Socket): Socket {
    const [silent] = this.#silent;
    if (silent !== undefined && silent !== newcomer) return silent;
    for (const asking of this.#asking.keys()) if (!this.#staying.has(asking)) return asking;
    return newcomer;
  }

  #asks(request: IncomingMessage, response: ServerResponse): void {
    const socket = this.#placeOf(request.socket);
    if (socket === undefined || socket.destroyed) return;
    const asked = (this.#asking.get(socket) ?? 0) + 1;
    if (asked > MOST_AHEAD) {
      socket.destroy();
      return;
    }
    this.#silent.delete(socket);
    this.#asking.set(socket, asked);
    response.once('close', () => this.#answered(socket));
  }

  /** Unset: it has none any more. */
  #placeOf(socket: Socket): Socket | undefined {
    const isOne = this.#silent.has(socket) || this.#asking.has(socket);
    return isOne ? socket : this.#connected.get(endsOf(socket));
  }

  #answered(socket: Socket): void {
    const others = (this.#asking.get(socket) ?? 1) - 1;
    if (others > 0) this.#asking.set(socket, others);
    else if (this.#asking.delete(socket)) {
      this.#staying.delete(socket);
      if (!socket.destroyed) this.#silent.add(socket);
    }
  }
}

function endsOf({ localAddress, localPort, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${localPort} ${remoteAddress} ${remotePort}`;
}
