/** Where keys of a cluster stand: at one Redis, or at the masters of a Redis Cluster. */
import type { Clock } from '../../../local/clock.js';
import type { RedisLink } from '../connection.js';

/** The server that has some keys now; another one after a failover. */
export interface RedisPlace {
  /** For people. */
  readonly name: string;
  /** Another one: another server, or one that may have lost its last moment. */
  readonly identity: string;
  /**
   * Does something on one connection, as soon as one is free. Where keys move to another server meanwhile it is done again there,
   * from its beginning: a task may be repeated, as by who does not know what became of it. @throws JournalError
   */
  use<T>(task: (link: RedisLink) => Promise<T>): Promise<T>;
}

export interface KeyedRequest {
  readonly key: string;
  readonly args: readonly string[];
}

export interface RedisPlaces {
  /** For people: without user and password. */
  readonly name: string;
  /** Keys with the same text in braces are at one server, others may be at others. Else all are at one. */
  readonly isSpread: boolean;
  /** How many replicas have to have a write, if nobody says. */
  readonly replicas: number;
  /** What does not keep it from being used, and is worth knowing; for people. */
  readonly caution: string | undefined;
  /** Called when the server of these keys may be another one than before, or have lost its last moment. */
  onFailover: ((touches: (key: string) => boolean) => void) | undefined;
  at(key: string): RedisPlace;
  /** For what has large answers: they hold up no write. */
  readerAt(key: string): RedisPlace;
  /** Reads each where its key is, all at once. Of a server that is not reached only what is there fails, and soon. */
  readEach(requests: readonly KeyedRequest[]): Promise<readonly PromiseSettledResult<unknown>[]>;
  /** At every server that is reached now. @throws JournalError */
  atEach(task: (link: RedisLink) => Promise<void>): Promise<void>;
  close(): void;
}

export interface PlacesOptions {
  /** A request has its answer after this, or its outcome is unknown, ms. */
  readonly deadline: number;
  /** The same for the first connection and what is asked on it, if that is more. */
  readonly startDeadline?: number;
  readonly clock: Clock;
  /** Connections with a server at most, and requests at once on each. */
  readonly shape: Shape;
  /** The same for what is read; unset: nothing large is. */
  readonly readers?: Shape;
}

export interface Shape {
  readonly connections: number;
  readonly each: number;
}
