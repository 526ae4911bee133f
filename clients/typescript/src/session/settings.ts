/** What a session is told when it begins. */
import type { Clock, Random } from '../clock.js';
import type { KeyturnError } from '../errors.js';
import type { BackOffSettings } from './back-off.js';
import type { OpenStream } from './network.js';
import type { OpenLimits } from './open-commands.js';

export interface SessionSettings {
  readonly sessionId: string;
  readonly consumerId: string | undefined;
  /** How long turns outlive a stream, ms. */
  readonly ttl: number;
  readonly margin: number | undefined;
  readonly limits: OpenLimits;
  readonly backOff: BackOffSettings;
}

export interface StreamWatch {
  broke(error: KeyturnError): void;
  back(): void;
}

/** Time, chance, ids and network. */
export interface Surroundings {
  readonly clock: Clock;
  readonly random: Random;
  readonly openStream: OpenStream;
  /** An id for an item: never the same twice, in no process. */
  newId(): string;
  /** Told when a stream broke that stood, and when another one stands again. Unset: nobody. */
  readonly watch?: StreamWatch | undefined;
}
