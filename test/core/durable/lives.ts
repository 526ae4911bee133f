/** Two coordinators that should not be told apart: one that lives on, and one that begins anew from its rows. */
import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import type { CoordinatorSettings, DeliveredItem } from '../../../src/coordinator.js';
import type { Row, RowChange, RowId } from '../../../src/core/contract/rows.js';
import type { Core } from '../../../src/core/core.js';
import type { Clock } from '../../../src/local/clock.js';
import { KEYS, QUEUES, SESSIONS } from '../../model/commands.js';
import { deQueueRequest } from '../../support/builders.js';
import { Call } from '../../support/call.js';
import type { MemoryDisk } from '../../support/memory-journal.js';
import { OnCore } from './on-core.js';

/** Rows and lanes in one go: few, so that a start has many. */
const SLICE = 3;

/** Begins anew from what is on disk, as after `kill -9` at a moment at which all is flushed. */
export class Restarting extends OnCore {
  readonly #disk: MemoryDisk;
  restarts = 0;

  constructor(settings: CoordinatorSettings, clock: Clock, disk: MemoryDisk) {
    super(settings, clock, { durable: true, keepsContents: disk.keepsContents });
    this.#disk = disk;
  }

  /** What changed is written, and is not in memory twice. */
  flush(): void {
    const batch = this.core.collect(this.now);
    assert.equal(this.core.changes, 0, 'what was collected is not marked any more');
    assert.ok(!this.core.urgent);
    this.#disk.apply(batch.changes, batch.instant);
    this.core.written(batch);
  }

  restart(): void {
    this.flush();
    const rows = this.#disk.rows();
    const { lastWrite } = this.#disk.past;
    const [floor] = rows;
    const tokenFloor = floor?.table === 'floor' ? floor.token : undefined;
    // A core that nobody keeps: rows are not changed by who takes them in, so another one may take them, too.
    this.#restored(rows, lastWrite, tokenFloor);
    this.core = this.#restored(rows, lastWrite, tokenFloor);
    assert.ok(!this.core.hasEffects && !this.core.hasHeld, 'a start tells nobody anything');
    this.#sameAgain(rows);
    this.restarts += 1;
    this.settle();
  }

  #restored(rows: readonly Row[], lastWrite: number | undefined, tokenFloor: number | undefined): Core {
    const core = this.begin(tokenFloor);
    for (let at = 0; at < rows.length; at += SLICE) core.restore(rows.slice(at, at + SLICE), this.now, { lastWrite });
    assert.deepEqual(core.stranded, []);
    while (core.finishRestore(this.now, SLICE));
    return core;
  }

  protected override content(seq: number): Pick<DeliveredItem, 'payload' | 'headers'> {
    return this.#disk.content(seq);
  }

  /** A start changes nothing: what it writes is what was there, but for what is over by the clock. */
  #sameAgain(rows: readonly Row[]): void {
    const batch = this.core.collect(this.now);
    for (const change of batch.changes) {
      if ('delete' in change) assert.ok(isOver(rows, change.delete, batch.instant), `stays: ${JSON.stringify(change)}`);
      if ('put' in change && change.put.table !== 'floor')
        assert.deepEqual(comparable(change.put), comparable(rowLike(rows, change)));
    }
    this.#disk.apply(batch.changes, batch.instant);
  }
}

function isOver(rows: readonly Row[], id: RowId, instant: number): boolean {
  const row = rows.find((one) =>
    one.table === 'items' && id.table === 'items' ? one.seq === id.seq : isDeepStrictEqual(one, { ...one, ...id }),
  );
  return row !== undefined && 'until' in row && row.until <= instant;
}

/** When a turn with items of at_most_once began is told as long as their results are remembered. */
function comparable(row: Row | undefined): Row | undefined {
  const handedOut =
    row?.table === 'tokens' && row.state === 'live' && row.assignment.kind === 'items' && row.assignment.done;
  return handedOut ? { ...row, startedAt: 0 } : row;
}

function rowLike(rows: readonly Row[], { put }: Extract<RowChange, { put: Row }>): Row | undefined {
  return rows.find((row) => {
    if (row.table !== put.table) return false;
    if (row.table === 'tokens' && put.table === 'tokens') return row.token === put.token;
    return row.table === 'sessions' && put.table === 'sessions' && row.id === put.id;
  });
}

/** Lives on. What a restart takes from the other is taken from it by calls that anybody could make. */
export class Steady extends OnCore {
  constructor(settings: CoordinatorSettings, clock: Clock) {
    super(settings, clock, {});
  }

  /** Precondition: no stream is open, and no call waits. */
  forget(): void {
    for (const queue of QUEUES) for (const key of KEYS) this.#forgetPlaces(queue, key);
    for (const sessionId of Object.keys(SESSIONS)) this.#breakAnew(sessionId);
  }

  /** Callers that are absent leave nothing but their turns. */
  #forgetPlaces(queue: string, key: string): void {
    const explained = this.core.explainKey(queue, key, this.now);
    assert.ok(explained.ok);
    for (const { kind, id: ticket } of explained.value.line) {
      if (kind === 'caller')
        this.deQueue(deQueueRequest({ queue, key, holder: { ticket }, abandoned: true }), new Call());
    }
    this.settle();
  }

  /** A session has its whole time from now on. */
  #breakAnew(sessionId: string): void {
    const opened = this.openSession({ notice: () => {}, replaced: () => {} });
    assert.ok(opened.ok);
    const ttl = SESSIONS[sessionId as keyof typeof SESSIONS]; // its keys
    opened.value.hello({ consumerId: 'c0', sessionId, ttl }, new Call());
    opened.value.close();
  }

  protected override content(): never {
    throw new Error('nothing is on disk');
  }
}
