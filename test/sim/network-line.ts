/** Connections between processes, and what happens to them. */
import { ConnectionEnd, type ConnectionListener, type Flow, type Keepalive } from './network-connection.js';
import { Pipe } from './network-pipe.js';
import type { Process, World } from './network-world.js';
import type { Chance } from './random.js';

/** One that takes connections. */
export interface Host {
  readonly process: Process;
  /** What it has to do with a connection that comes in. */
  greet(from: string): ConnectionListener & { readonly keepalive: Keepalive; connected(end: ConnectionEnd): void };
}

export type Log = (line: string) => void;

export interface Line {
  readonly client: ConnectionEnd;
  readonly server: ConnectionEnd;
  readonly up: Pipe;
  readonly down: Pipe;
}

/** How a side comes to know that a line is cut. `never`: only its own pings, or those above it, find out. */
type Learning = 'at once' | 'late' | 'never';

export class Network {
  /** Where connections go; unset: nobody listens. */
  host: Host | undefined;
  /** Nothing happens to it any more, and everything is fast. */
  isGood = false;
  #refusesUntil = 0;
  #isSlowUntil = 0;
  readonly #lines: Line[] = [];

  constructor(
    private readonly world: World,
    private readonly chance: Chance,
    private readonly log: Log,
  ) {}

  /** Lines of which at least one side thinks that it stands. */
  get lines(): readonly Line[] {
    return this.#lines;
  }

  delay(): number {
    if (this.isGood) return 1;
    const { chance } = this;
    if (this.world.now < this.#isSlowUntil || chance.in100(2)) return 20 + chance.next() * 600;
    return 0.1 + chance.next() * (chance.in100(10) ? 60 : 4);
  }

  refuse(ms: number): void {
    this.#refusesUntil = this.world.now + ms;
  }

  slow(ms: number): void {
    this.#isSlowUntil = this.world.now + ms;
  }

  heal(): void {
    this.isGood = true;
    this.#refusesUntil = 0;
    this.#isSlowUntil = 0;
  }

  /** @returns this side's end; undefined: refused */
  connect(from: Process, keepalive: Keepalive, listener: ConnectionListener): ConnectionEnd | undefined {
    const { host, world, chance } = this;
    if (host === undefined || host.process.state === 'dead' || world.now < this.#refusesUntil) return undefined;
    const flow = this.#flow();
    const greeted = host.greet(from.name);
    const forget = (line: Line) => this.#forget(line);
    // Each pipe ends in the other end, which is made of it: bytes arrive later than this.
    const up = new Pipe(world, chance, this, (bytes) => host.process.hear(() => line.server.arrive(bytes)));
    const down = new Pipe(world, chance, this, (bytes) => from.hear(() => line.client.arrive(bytes)));
    const line: Line = {
      client: new ConnectionEnd(from, up, flow, keepalive, {
        opened: (stream) => listener.opened(stream),
        lost: () => {
          forget(line);
          listener.lost();
        },
      }),
      server: new ConnectionEnd(host.process, down, flow, greeted.keepalive, {
        opened: (stream) => greeted.opened(stream),
        lost: () => {
          forget(line);
          greeted.lost();
        },
      }),
      up,
      down,
    };
    this.#lines.push(line);
    greeted.connected(line.server);
    return line.client;
  }

  /** Nothing passes any more, in one direction or both. Each side learns of it in its own time. */
  cut(line: Line): void {
    const { chance } = this;
    const which = chance.of('both', 'both', 'both', 'up', 'down');
    const ends: [ConnectionEnd, Pipe][] = [
      [line.client, line.down],
      [line.server, line.up],
    ];
    const arrived = { up: which !== 'down' ? line.up.cut() : 0, down: which !== 'up' ? line.down.cut() : 0 };
    this.log(`cut ${line.client.process.name} ${which}`);
    // The sidecar counts from now on, and the client does not know: its own clock alone can tell its handlers in time.
    const isWorst = chance.in100(30);
    for (const [end, pipe] of ends) {
      let learning: Learning = which === 'both' ? chance.of('at once', 'at once', 'late', 'never') : 'never';
      if (isWorst) learning = end === line.server ? 'at once' : 'never';
      if (learning === 'never') continue;
      const after = pipe === line.up ? arrived.up : arrived.down;
      const at = after + (learning === 'at once' ? chance.int(0, 20) : chance.int(100, 4_000));
      this.world.at(at, () => end.process.hear(() => end.lose()));
    }
  }

  /** Both directions stand still; nothing is lost. */
  stall(line: Line, ms: number): void {
    line.up.stall(this.world.now + ms);
    line.down.stall(this.world.now + ms);
  }

  /** The process is gone. Its machine may have been able to say so. */
  died(process: Process): void {
    const isTold = this.chance.in100(70);
    for (const line of [...this.#lines]) {
      const end = line.client.process === process ? line.client : line.server;
      if (end.process !== process) continue;
      end.isLost = true;
      const other = end === line.client ? line.server : line.client;
      this.#forget(line);
      const arrivedAt = (end === line.client ? line.up : line.down).cut();
      if (end === line.client) line.down.cut();
      else line.up.cut();
      if (isTold) this.world.at(arrivedAt + this.chance.int(1, 20), () => other.process.hear(() => other.lose()));
    }
  }

  #forget(line: Line): void {
    const at = this.#lines.indexOf(line);
    if (at >= 0 && line.client.isLost && line.server.isLost) this.#lines.splice(at, 1);
  }

  #flow(): Flow {
    const { chance } = this;
    return {
      window: chance.of(65_535, 65_535, 4_096, 600),
      buffer: chance.of(16_384, 2_048, 200),
      frame: chance.of(16_384, 1_000, 300),
    };
  }
}
