/** A coordinator whose queue `q` is durable and whose queue `m` is not, on a disk that a test can stop, break and reopen. */
import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import type { Policy, Refusal, Result } from '../../../src/coordinator.js';
import type { SharedUse } from '../../../src/core/core.js';
import { LocalCoordinator, type PartitionStart } from '../../../src/local/coordinator.js';
import type { StoreState } from '../../../src/local/durable/state.js';
import { Worker } from '../../contract/worker.js';
import { type SettingsChange, settings } from '../../support/builders.js';
import { FakeClock } from '../../support/fake-clock.js';
import { type Fate, MemoryDisk } from '../../support/memory-journal.js';

export const MEMORY = 'm';

export interface DurableOptions extends Omit<SettingsChange, 'queues'> {
  /** Of `q`. */
  readonly policy?: Partial<Policy>;
  readonly disk?: MemoryDisk;
  readonly clock?: FakeClock;
  readonly partition?: PartitionStart;
  readonly shared?: SharedUse;
}

export class DurableStage extends Worker {
  readonly disk: MemoryDisk;
  readonly clock: FakeClock;
  readonly coordinator: LocalCoordinator;
  /** What was said of the disk. */
  readonly states: StoreState[];

  constructor(options: DurableOptions = {}) {
    const { policy, disk = new MemoryDisk(), clock = new FakeClock(), partition, shared, ...change } = options;
    const queues = { q: { durable: true, ...policy }, [MEMORY]: {} };
    const states: StoreState[] = [];
    const coordinator = new LocalCoordinator(settings({ ...change, queues }), {
      clock,
      seed: 1,
      journal: disk.open(),
      onStore: (state) => states.push(state),
      ...(partition && { partition }),
      ...(shared && { shared }),
    });
    super(coordinator);
    this.disk = disk;
    this.clock = clock;
    this.coordinator = coordinator;
    this.states = states;
  }

  /** Ready for calls. */
  static start(options: DurableOptions = {}): Promise<DurableStage> {
    return new DurableStage(options).recovered();
  }

  /** Until nothing happens any more without time passing. */
  async flush(): Promise<void> {
    for (let i = 0; i < 5; i++) {
      this.clock.turn();
      await setImmediate();
    }
  }

  async advance(ms: number): Promise<void> {
    this.clock.advance(ms);
    await this.flush();
  }

  /** The next start, as after `kill -9`. Not recovered yet. */
  restart(options: DurableOptions = {}): DurableStage {
    this.disk.crash();
    return new DurableStage({ disk: this.disk, clock: this.clock, ...options });
  }

  /** Waits for the recovery, turning the event loop as often as it wants. */
  async recovered(): Promise<this> {
    let over = false;
    const done = this.coordinator.recover().finally(() => {
      over = true;
    });
    // Whoever awaits it is told; here it only must not be one that nobody awaits.
    done.catch(() => undefined);
    while (!over) await this.flush();
    await done;
    return this;
  }

  /** From now on every write waits. @returns what lets them all go */
  stop(then?: Fate): () => Promise<void> {
    let go = (): void => undefined;
    const until = new Promise<void>((resolve) => {
      go = resolve;
    });
    this.disk.fate = () => ({ does: 'wait', until, ...(then && { then }) });
    return async () => {
      this.disk.fate = () => ({ does: 'succeed' });
      go();
      await this.flush();
    };
  }

  /** From now on every write fails. @returns what lets them succeed again */
  break(fate: Fate = { does: 'fail', problem: 'full' }): () => void {
    this.disk.fate = () => fate;
    return () => {
      this.disk.fate = () => ({ does: 'succeed' });
    };
  }
}

export function told<T>(result: Result<T>): T {
  if (!result.ok) assert.fail(`refused: ${JSON.stringify(result.refusal)}`);
  return result.value;
}

export function unavailable(refusal: Refusal): string {
  if (refusal.kind !== 'store_unavailable') assert.fail(`refused otherwise: ${JSON.stringify(refusal)}`);
  return refusal.description;
}
