/** What goes wrong with the cluster, in the log: each trouble once, and its end. One cause may be that of all partitions at once. */
import type { Clock } from '../../../local/clock.js';

/** ms */
const GATHER = 1_000;
/** Between two reasons that registry or store as a whole are in trouble, ms: one that is away fails in several ways in turn. */
const BETWEEN_REASONS = 10_000;
/** Causes that are gathered; what comes then is told at once. */
const MOST_GATHERED = 32;

interface Log {
  info(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

interface Gathered {
  readonly reason: string;
  readonly partitions: Set<number>;
}

export class TroubleLog {
  /** By partition; undefined: with registry or store as a whole. */
  readonly #troubles = new Map<number | undefined, string>();
  /** Of partitions, by what they have in common. */
  readonly #gathered = new Map<string, Gathered>();
  readonly #over = new Set<number>();
  #callOff: (() => void) | undefined;
  /** What was said last of registry or store as a whole, and when; unset: that there is no more trouble. */
  #told: { readonly reason: string; readonly at: number } | undefined;

  constructor(
    private readonly log: Log,
    private readonly clock: Pick<Clock, 'after' | 'now'>,
  ) {}

  /** With registry or store as a whole. */
  get trouble(): string | undefined {
    return this.#troubles.get(undefined);
  }

  began(error: Error, partition: number | undefined): void {
    const { message } = error;
    const isNews = this.#troubles.get(partition) !== message;
    this.#troubles.set(partition, message);
    if (partition === undefined) return this.#tell(message);
    if (!isNews) return;
    this.#over.delete(partition);
    const cause = message.replaceAll(/\bpartition \d+/g, 'partition');
    const known = this.#gathered.get(cause);
    if (known !== undefined) known.partitions.add(partition);
    else this.#gathered.set(cause, { reason: message, partitions: new Set([partition]) });
    if (this.#gathered.size >= MOST_GATHERED) this.flush();
    else this.#arm();
  }

  ended(partition: number | undefined): void {
    if (!this.#troubles.delete(partition)) return;
    if (partition === undefined) {
      this.#told = undefined;
      return this.log.info({}, 'the cluster is reached again');
    }
    this.#over.add(partition);
    this.#arm();
  }

  /** What was gathered, now. */
  flush(): void {
    this.#callOff?.();
    this.#callOff = undefined;
    for (const { reason, partitions } of this.#gathered.values())
      this.log.error({ partitions: inOrder(partitions), reason }, `trouble with ${amount(partitions)} of the cluster`);
    if (this.#over.size > 0)
      this.log.info({ partitions: inOrder(this.#over) }, `no more trouble with ${amount(this.#over)} of the cluster`);
    this.#gathered.clear();
    this.#over.clear();
  }

  #tell(reason: string): void {
    const at = this.clock.now();
    const told = this.#told;
    if (told !== undefined && (told.reason === reason || at - told.at < BETWEEN_REASONS)) return;
    this.#told = { reason, at };
    this.log.error({ reason }, 'trouble with the cluster');
  }

  #arm(): void {
    this.#callOff ??= this.clock.after(GATHER, () => this.flush());
  }
}

function inOrder(partitions: ReadonlySet<number>): readonly number[] {
  return [...partitions].sort((a, b) => a - b);
}

function amount({ size }: ReadonlySet<number>): string {
  return size === 1 ? '1 partition' : `${size} partitions`;
}
