/** What becomes of partitions, in the log: there may be hundreds at once, so there is at most one line a second. */
import type { Happening } from '../../../cluster/member/happenings.js';
import type { Clock } from '../../../local/clock.js';

/** ms */
const GATHER = 1_000;

type Told = 'claimed' | 'handed_over' | 'given_up' | 'fenced';

const WORDS: { readonly [K in Happening['kind']]: Told | undefined } = {
  claimed: 'claimed',
  opened: undefined,
  handed_over: 'handed_over',
  given_up: 'given_up',
  succeeded: 'fenced',
  fell_back: undefined,
};
const TEXTS: Readonly<Record<Told, string>> = {
  claimed: 'claimed',
  handed_over: 'handed over',
  given_up: 'given up',
  fenced: 'taken by another sidecar',
};

interface Log {
  info(fields: object, message: string): void;
}

export class PartitionLog {
  readonly #gathered = new Map<Told, Set<number>>();
  #callOff: (() => void) | undefined;

  constructor(
    private readonly log: Log,
    private readonly clock: Pick<Clock, 'after'>,
  ) {}

  happened(partition: number, { kind }: Happening): void {
    const told = WORDS[kind];
    if (told === undefined) return;
    const known = this.#gathered.get(told);
    if (known === undefined) this.#gathered.set(told, new Set([partition]));
    else known.add(partition);
    this.#callOff ??= this.clock.after(GATHER, () => this.flush());
  }

  /** What was gathered, now. */
  flush(): void {
    this.#callOff?.();
    this.#callOff = undefined;
    if (this.#gathered.size === 0) return;
    const all = [...this.#gathered];
    this.#gathered.clear();
    const text = all.map(([told, partitions]) => `${partitions.size} ${TEXTS[told]}`).join(', ');
    const fields = all.map(([told, partitions]) => [told, [...partitions].sort((a, b) => a - b)] as const);
    this.log.info(Object.fromEntries(fields), `partitions: ${text}`);
  }
}
