/**
 * One list of what several homes list, in order. Of each home only a few entries are here at a time, however long its list is.
 * A page token says for each partition behind which of its entries it goes on.
 */
import type { Placed, Refusal, Result, Unavailable } from '../../coordinator.js';
import { isAway, why } from './asking.js';

/** Entries that are asked for at a time, of each home. */
const FEW = 16;

interface Source<R> {
  readonly partition: number;
  /** Entries behind this place, and whether there are more. */
  fetch(place: string, most: number): Promise<Result<{ readonly rows: readonly R[]; readonly more: boolean }>>;
}

export interface Merge<R> {
  readonly most: number;
  /** Of entries of several homes. */
  before(a: R, b: R): boolean;
  /** A page may end early: its entries together are no larger. */
  readonly bytes: number;
  sizeOf(row: R): number;
}

export interface Merged<R> {
  readonly rows: readonly R[];
  /** Empty: that was the last. */
  readonly token: string;
  readonly unavailable: readonly Unavailable[];
}

type Places = ReadonlyMap<number, string>;

export async function mergePages<R extends Placed>(
  sources: readonly Source<R>[],
  places: Places,
  merge: Merge<R>,
): Promise<Result<Merged<R>>> {
  const cursors = sources.map((source) => new Cursor(source, places.get(source.partition) ?? ''));
  const few = Math.min(merge.most + 1, FEW);
  await Promise.all(cursors.map((cursor) => cursor.fill(few)));
  const rows: R[] = [];
  let bytes = 0;
  let isFull = false;
  for (;;) {
    const refused = cursors.find(({ refusal }) => refusal !== undefined && !isAway(refusal))?.refusal;
    if (refused !== undefined) return { ok: false, refusal: refused };
    const next = first(cursors, merge);
    if (next?.head === undefined) break;
    bytes += merge.sizeOf(next.head);
    isFull = rows.length >= merge.most || (rows.length > 0 && bytes > merge.bytes);
    if (isFull) break;
    rows.push(next.head);
    next.pass();
    if (next.isEmpty) await next.fill(few);
  }
  const unavailable = cursors.flatMap(({ source: { partition }, refusal }) =>
    refusal === undefined ? [] : [{ partition, why: why(refusal) }],
  );
  return { ok: true, value: { rows, token: isFull ? tokenOf(cursors) : '', unavailable } };
}

function first<R extends Placed>(cursors: readonly Cursor<R>[], { before }: Merge<R>): Cursor<R> | undefined {
  let best: Cursor<R> | undefined;
  for (const cursor of cursors) {
    if (cursor.head !== undefined && (best?.head === undefined || before(cursor.head, best.head))) best = cursor;
  }
  return best;
}

class Cursor<R extends Placed> {
  refusal: Refusal | undefined;
  #rows: readonly R[] = [];
  #at = 0;
  #more = true;

  constructor(
    readonly source: Source<R>,
    /** Behind that it goes on. */
    public place: string,
  ) {}

  get head(): R | undefined {
    return this.#rows[this.#at];
  }

  /** None is here, and there may be more. */
  get isEmpty(): boolean {
    return this.#at >= this.#rows.length && this.#more;
  }

  pass(): void {
    this.place = this.head?.place ?? this.place;
    this.#at += 1;
  }

  async fill(most: number): Promise<void> {
    const result = await this.source.fetch(this.place, most);
    this.#at = 0;
    this.#rows = result.ok ? result.value.rows : [];
    this.#more = result.ok && result.value.more;
    if (!result.ok) this.refusal = result.refusal;
  }
}

function tokenOf<R extends Placed>(cursors: readonly Cursor<R>[]): string {
  const places = cursors.flatMap(({ source: { partition }, place }) => (place === '' ? [] : [[partition, place]]));
  return Buffer.from(JSON.stringify(places)).toString('base64url');
}

/** @returns undefined for what is no token of such a list */
export function placesOf(token: string): Places | undefined {
  if (token === '') return new Map();
  try {
    const parsed: unknown = JSON.parse(Buffer.from(token, 'base64url').toString());
    if (!Array.isArray(parsed)) return undefined;
    const places = new Map<number, string>();
    for (const pair of parsed) {
      const [partition, place]: unknown[] = Array.isArray(pair) ? pair : [];
      if (typeof partition !== 'number' || typeof place !== 'string') return undefined;
      places.set(partition, place);
    }
    return places;
  } catch {
    return undefined;
  }
}
