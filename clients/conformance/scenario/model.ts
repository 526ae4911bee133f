/** A scenario as it is played. */
import type { Fields } from '../fields.js';

export interface Scenario {
  /** `file: name`: unique. */
  readonly id: string;
  readonly file: string;
  readonly name: string;
  /** The sentence of the contract that it checks. */
  readonly contract: string;
  readonly sidecar: SidecarPlan;
  /** In its folder before the sidecar starts: texts by name. */
  readonly files: Readonly<Record<string, string>>;
  readonly proxy: boolean;
  /** It gets a folder with certificates, `$certificates`. */
  readonly certificates: boolean;
  /** It is about the homes behind a gateway: where a sidecar stands alone it is not played. */
  readonly cluster: boolean;
  /** Its players are of different languages, of those that are played. */
  readonly mixed: boolean;
  /** Names of player processes; the first is that of steps and clients that name none. */
  readonly players: readonly string[];
  /** Opened before the first step. */
  readonly clients: Readonly<Record<string, Fields>>;
  readonly steps: readonly Step[];
}

export interface SidecarPlan {
  /** The YAML of the sidecar but for where it listens and keeps its data. */
  readonly settings: Fields;
  readonly listen: 'tcp' | 'unix';
  /** It has a directory for what is durable. */
  readonly data: boolean;
}

export interface Step {
  readonly verb: string;
  readonly body: unknown;
  /** `expect`, `error`, `within` and others that stand beside the verb. */
  readonly words: Fields;
  /** Where it stands in its file. */
  readonly line: number;
}
