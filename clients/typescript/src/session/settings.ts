/** What a session needs when it begins. */

import type { BackOffSettings } from '../retry/back-off.js';
import type { Clock, Random } from '../time/clock.js';
import type { KeyturnError } from '../words/errors.js';
import type { OpenStream } from './network.js';
import type { OpenLimits } from './open-commands.js';

/** Between two streams. */
export const DEFAULT_BACK_OFF: BackOffSettings = { first: 50, max: 2_000 };

export interface SessionSettings {
  /** Of the sidecar, for errors. */
  readonly address: string;
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
  /** Called when a stream broke that stood, and when another one stands again. */
  readonly watch?: StreamWatch | undefined;
}
