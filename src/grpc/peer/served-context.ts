/** What the links of all gateways have in common, on the side of the home. */
import type { Coordinator } from '../../coordinator.js';
import type { Audited } from '../call/audit.js';
import type { Log } from '../call/handler.js';
import type { Check } from '../convert/validate.js';
import type { Scheduler } from '../session/flow.js';
import type { HandOverStep } from './hand-over-step.js';

export interface ServedContext {
  readonly scheduler: Scheduler;
  readonly log: Log;
  readonly failed?: () => void;
  readonly check: Check;
  /** Unset: this sidecar is not its home. */
  home(partition: number): Coordinator | undefined;
  /** The version of the routes that this sidecar follows. */
  routes(): number;
  /** Somebody goes by newer ones. */
  behind?(): void;
  /** Told of what people change by way of gateways. */
  readonly audited?: Audited | undefined;
  /** The gateway was the home of this partition until now, and let no call in for so many ms; or a step before that. */
  handedOver?(partition: number, shutFor: number, step: HandOverStep): void;
}
