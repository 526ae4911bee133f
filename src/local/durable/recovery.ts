import type { Row } from '../../core/contract/rows.js';
import type { Core, Stranded } from '../../core/core.js';
import type { Clock } from '../clock.js';
import type { Journal } from '../journal/journal.js';
import type { EmitState } from './state.js';

/** Things brought to life in one go: a millisecond or two. */
const BUDGET = 1_000;
/** ms */
const EMIT_EVERY = 1_000;

interface Recovery {
  readonly journal: Pick<Journal, 'before' | 'read'>;
  readonly clock: Clock;
  /** @param tokenFloor all tokens so far are smaller; unset: there are none */
  readonly makeCore: (tokenFloor: number | undefined) => Core;
  /** Of the core. It stands still until everything is there: a lease goes on where it was. */
  readonly now: number;
  readonly emit: EmitState;
  /** The recovery is not wanted any more. */
  readonly isCalledOff: () => boolean;
  /** What the data may use of the memory; unset: as much as there is. */
  readonly memory?: MemoryBound | undefined;
}

export interface MemoryBound {
  /** `limits.memory_bytes`. */
  readonly limit: number;
  /** What others of the process use of it, bytes. */
  readonly elsewhere: () => number;
  /** What is over the limit at the end is drained: only what goes beyond {@link MOST} is refused. */
  readonly mayExceed: boolean;
}

/** Reading stops where so many times the limit is held: with a limit of 60 % of the heap a quarter of it is left then. */
const MOST = 1.25;

/**
 * Makes a core of what is on the disk, in slices, so that calls are refused meanwhile instead of hanging.
 *
 * @returns unset: it was called off
 * @throws JournalError, StrandedError, MemoryShortError
 */
export async function recover(recovery: Recovery): Promise<Core | undefined> {
  const { journal, makeCore, now, isCalledOff } = recovery;
  const past = { lastWrite: journal.before.lastWrite };
  const progress = new Progress(recovery);
  let core: Core | undefined;
  for await (const rows of journal.read()) {
    core ??= makeCore(floorIn(rows));
    core.restore(rows, now, past);
    progress.add(rows.length);
    checkMemory(core, recovery, MOST, progress.share);
    await turnOf(recovery.clock);
    if (isCalledOff()) return undefined;
  }
  core ??= makeCore(undefined);
  if (core.stranded.length > 0) throw new StrandedError(core.stranded);
  while (core.finishRestore(now, BUDGET)) {
    await turnOf(recovery.clock);
    if (isCalledOff()) return undefined;
  }
  checkMemory(core, recovery, recovery.memory?.mayExceed === true ? MOST : 1, 1);
  progress.end();
  return core;
}

/** What is on the disk must not be dropped, and may not be kept either. */
export class StrandedError extends Error {
  override readonly name = 'StrandedError';

  constructor(queues: readonly Stranded[]) {
    const each = queues.map(
      ({ queue, items, deadLetters, liveTurns }) =>
        `${queue} (${items} items, ${deadLetters} dead letters, ${liveTurns} live turns)`,
    );
    super(
      `there is data of queues that are not durable by the configuration: ${each.join(', ')}; ` +
        'make them durable again, or save them with `keyturn data export` and start with another directory',
    );
  }
}

/** @param share how much of the data was read */
function checkMemory({ memoryBytes }: Core, { memory }: Recovery, times: number, share: number): void {
  if (memory === undefined || memoryBytes + memory.elsewhere() <= memory.limit * times) return;
  throw new MemoryShortError(Math.ceil(memoryBytes / share) + memory.elsewhere(), memory.limit);
}

const MEBIBYTE = 2 ** 20;
/** `limits.memory_bytes` of the heap limit of Node, where nobody sets it. */
const SHARE_OF_HEAP = 0.6;

/** What is on the disk is more than may be held. Nothing of it is lost. */
export class MemoryShortError extends Error {
  override readonly name = 'MemoryShortError';

  /** @param needed bytes, about */
  constructor(needed: number, limit: number) {
    // Some of it is for what comes after the start.
    const enough = Math.ceil((needed * 1.1) / MEBIBYTE);
    super(
      `the data need about ${needed} bytes of memory, and limits.memory_bytes allows ${limit}; nothing is lost: ` +
        `set limits.memory_bytes to ${enough * MEBIBYTE} at least, and start Node with a heap that holds it ` +
        `(NODE_OPTIONS=--max-old-space-size=${Math.ceil(enough / SHARE_OF_HEAP)})`,
    );
  }
}

/** It stands in the first slice, if there is one. */
function floorIn(rows: readonly Row[]): number | undefined {
  for (const row of rows) if (row.table === 'floor') return row.token;
  return undefined;
}

class Progress {
  #rows = 0;
  #emittedAt: number;
  readonly #of: number;

  constructor(private readonly recovery: Recovery) {
    this.#emittedAt = recovery.clock.now();
    this.#of = recovery.journal.before.rows;
  }

  add(rows: number): void {
    this.#rows += rows;
    if (this.recovery.clock.now() - this.#emittedAt >= EMIT_EVERY) this.#emit();
  }

  /** How much was read, as far as that is known beforehand. */
  get share(): number {
    return this.#of === 0 ? 1 : Math.min(1, this.#rows / this.#of);
  }

  end(): void {
    this.#emit();
  }

  #emit(): void {
    this.#emittedAt = this.recovery.clock.now();
    this.recovery.emit({ at: 'recovering', rows: this.#rows, of: Math.max(this.#of, this.#rows) });
  }
}

function turnOf(clock: Clock): Promise<void> {
  return new Promise((resolve) => clock.soon(resolve));
}
