/** One direction of a connection: bytes come in order, late, and from some moment on not at all. */
import type { Buffer } from 'node:buffer';
import type { World } from './network-world.js';
import type { Chance } from './random.js';

interface Chunk {
  readonly at: number;
  readonly bytes: Buffer;
}

export interface Weather {
  /** How long a piece is on its way, ms. */
  delay(): number;
}

export class Pipe {
  readonly #flight: Chunk[] = [];
  #lastAt = 0;
  #blockedUntil = 0;
  #isCut = false;
  #callOff: (() => void) | undefined;

  constructor(
    private readonly world: World,
    private readonly chance: Chance,
    private readonly weather: Weather,
    private readonly arrive: (bytes: Buffer) => void,
  ) {}

  get isCut(): boolean {
    return this.#isCut;
  }

  send(bytes: Buffer): void {
    if (this.#isCut) return;
    const middle = bytes.length > 1 && this.chance.in100(20) ? this.chance.int(1, bytes.length - 1) : bytes.length;
    this.#put(bytes.subarray(0, middle));
    if (middle < bytes.length) this.#put(bytes.subarray(middle));
  }

  /** Nothing arrives before; nothing is lost. */
  stall(until: number): void {
    this.#blockedUntil = Math.max(this.#blockedUntil, until);
    this.#arm();
  }

  /** Of what is on its way some bytes still arrive, any number of them. @returns when the last of them does */
  cut(): number {
    if (this.#isCut) return this.world.now;
    this.#isCut = true;
    const onTheWay = this.#flight.reduce((sum, { bytes }) => sum + bytes.length, 0);
    let left = this.chance.int(0, onTheWay);
    const kept: Chunk[] = [];
    for (const { at, bytes } of this.#flight) {
      if (left <= 0) break;
      kept.push({ at, bytes: bytes.subarray(0, left) });
      left -= bytes.length;
    }
    this.#flight.splice(0, this.#flight.length, ...kept);
    this.#arm();
    return Math.max(this.world.now, kept.length === 0 ? 0 : this.#blockedUntil, kept.at(-1)?.at ?? 0);
  }

  #put(bytes: Buffer): void {
    this.#lastAt = Math.max(this.#lastAt, this.world.now + this.weather.delay());
    this.#flight.push({ at: this.#lastAt, bytes });
    if (this.#flight.length === 1) this.#arm();
  }

  #arm(): void {
    this.#callOff?.();
    const [first] = this.#flight;
    this.#callOff =
      first &&
      this.world.at(Math.max(first.at, this.#blockedUntil), () => {
        this.#callOff = undefined;
        this.#flight.shift();
        this.#arm();
        this.arrive(first.bytes);
      });
  }
}
