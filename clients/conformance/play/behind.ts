/**
 * What stands behind the sidecars of a suite. Without it each stands alone; with it each is a gateway, and what is decided and
 * kept is decided and kept behind it. Scenarios and clients notice nothing.
 */
import type { Fields } from '../fields.js';
import type { Scenario } from '../scenario/model.js';
import type { QueueNames } from './queue-names.js';

export interface Behind {
  /** How the queues of this scenario are called there: several scenarios, and languages, may meet behind one gateway. */
  namesOf(scenario: Scenario, language: string): QueueNames;
  /**
   * The settings that make a sidecar a gateway. What it forwards to is there when they are.
   *
   * @param scenario unset: the sidecar of all that share one
   */
  gatewayOf(scenario: Scenario | undefined): Promise<Fields>;
  /** Kills, as a crash does it, the home that decides about a group of a scenario which has homes of its own. */
  killHome(scenario: Scenario, group: string): Promise<void>;
  /** What was said there last. */
  readonly log: string;
}
