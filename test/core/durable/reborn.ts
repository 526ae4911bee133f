/** A stage whose core begins anew from what it wrote. */
import assert from 'node:assert/strict';
import type { Core, Start, Stranded } from '../../../src/core/core.js';
import { QUEUE, type SettingsChange } from '../../support/builders.js';
import { FIRST_WALL } from '../../support/fake-clock.js';
import { MemoryDisk } from '../../support/memory-journal.js';
import { Stage } from '../stage.js';

export const DURABLE: SettingsChange = { queues: { [QUEUE]: { durable: true } } };

export class Lives {
  readonly disk: MemoryDisk;
  stage: Stage;
  #wall = FIRST_WALL;
  /** The clock of the stage at its start. */
  #began: number;

  constructor(
    private readonly change: SettingsChange = DURABLE,
    keepsContents = false,
    private readonly partition: Start['partition'] = undefined,
  ) {
    this.disk = new MemoryDisk(keepsContents);
    this.stage = new Stage(change, 5_000, { durable: true, keepsContents, partition });
    this.#began = this.stage.now;
  }

  flush(): void {
    const { core, now } = this.stage;
    const batch = core.collect(now);
    this.disk.apply(batch.changes, batch.instant);
    core.written(batch);
  }

  /**
   * What was not flushed is lost.
   * @param away how long the process was, ms; its own clock begins at another number
   * @param wallStep how far the wall clock was set meanwhile
   */
  restart({ away = 0, wallStep = 0, change = this.change, now = 300 } = {}): readonly Stranded[] {
    this.#wall += this.stage.now - this.#began + away + wallStep;
    const rows = this.disk.rows();
    const [floor] = rows;
    const tokenFloor = floor?.table === 'floor' ? floor.token : undefined;
    const { keepsContents } = this.disk;
    const start = { wall: this.#wall, durable: true, keepsContents, tokenFloor, partition: this.partition };
    this.stage = new Stage(change, now, start);
    this.#began = now;
    this.stage.core.restore(rows, now, this.disk.past);
    const { stranded } = this.stage.core;
    if (stranded.length === 0) finish(this.stage.core, now);
    return stranded;
  }
}

function finish(core: Core, now: number): void {
  while (core.finishRestore(now, 1));
  assert.ok(!core.hasEffects && !core.hasHeld);
}
