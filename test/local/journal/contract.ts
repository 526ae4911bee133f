/** What every journal promises: one suite for the one that is kept on a disk and the one that tests have in memory. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import type { Row, RowChange } from '../../../src/core/contract/rows.js';
import { type Journal, JournalError } from '../../../src/local/journal/journal.js';
import { ALL_KINDS, asRead, contentOf, itemRow, puts } from './rows.js';

/** Where a journal keeps its rows: it can be opened again. */
export interface Place {
  open(): Promise<Journal>;
}

export function journalContract(name: string, place: (t: TestContext) => Promise<Place>): void {
  describe(`${name} keeps what every journal promises`, () => {
    it('is empty when it is new, and knows of no run before', async (t) => {
      const journal = await (await place(t)).open();
      assert.deepEqual(journal.before, { lastWrite: undefined, rows: 0 });
      assert.deepEqual(await rowsOf(journal), []);
      await journal.close();
    });

    it('gives back every kind of row as it was, in the order of the tables, contents left out', async (t) => {
      const there = await place(t);
      const shuffled = [...ALL_KINDS].reverse();
      await inJournal(there, (journal) => journal.write(puts(shuffled), 17.5));
      await inJournal(there, async (journal) => {
        assert.deepEqual(journal.before, { lastWrite: 17.5, rows: ALL_KINDS.length });
        const rows = await rowsOf(journal);
        assert.deepEqual(
          rows.map(({ table }) => table),
          ALL_KINDS.map(({ table }) => table),
        );
        assert.deepEqual(withoutOrderOfNames(rows), withoutOrderOfNames(ALL_KINDS.map(asRead)));
      });
    });

    it('gives back contents, of every size', async (t) => {
      const there = await place(t);
      await inJournal(there, (journal) => journal.write(puts(ALL_KINDS), 1));
      await inJournal(there, async (journal) => {
        for (const row of ALL_KINDS) {
          if (row.table === 'items' && row.state === 'open') assert.deepEqual(journal.content(row.seq), row.content);
        }
      });
    });

    it('keeps a content that it gave apart from those it gives later', async (t) => {
      await inJournal(await place(t), async (journal) => {
        const large = (letter: string) => contentOf(letter.repeat(40_000));
        const small = (letter: string) => contentOf(letter.repeat(40));
        const contents = [small('a'), small('b'), large('c'), large('d')];
        await journal.write(puts(contents.map((content, seq) => itemRow(seq, { content }))), 1);
        const given = contents.map((_, seq) => journal.content(seq));
        await journal.write(
          [0, 1, 2, 3].map((seq) => ({ delete: { table: 'items', seq } })),
          2,
        );
        await journal.write(puts([itemRow(9, { content: large('e') })]), 3);
        assert.deepEqual(given, contents);
      });
    });

    it('writes over, and deletes; a delete of what is not there changes nothing', async (t) => {
      const there = await place(t);
      await inJournal(there, async (journal) => {
        await journal.write(puts([itemRow(1), itemRow(2), { table: 'pauses', queue: 'a' }]), 1);
        await journal.write([{ delete: { table: 'items', seq: 1 } }, { delete: { table: 'items', seq: 99 } }], 2);
        await journal.write([{ delete: { table: 'pauses', queue: 'a' } }, { put: { ...itemRow(2), id: 'again' } }], 3);
      });
      await inJournal(there, async (journal) => {
        assert.equal(journal.before.lastWrite, 3);
        assert.deepEqual(await rowsOf(journal), [asRead({ ...itemRow(2), id: 'again' })]);
      });
    });

    it('applies the changes of a batch in their order', async (t) => {
      await inJournal(await place(t), async (journal) => {
        const change: RowChange[] = [
          { put: itemRow(1) },
          { delete: { table: 'items', seq: 1 } },
          { delete: { table: 'items', seq: 2 } },
          { put: itemRow(2) },
        ];
        await journal.write(change, 1);
        assert.deepEqual(await rowsOf(journal), [asRead(itemRow(2))]);
      });
    });

    for (const size of [10, 5_000]) {
      it(`drops a content of ${size} bytes with its item: finished, or deleted`, async (t) => {
        await inJournal(await place(t), async (journal) => {
          const content = contentOf('x'.repeat(size));
          await journal.write(puts([itemRow(1, { content }), itemRow(2, { content })]), 1);
          const finished: Row = { ...finishedRow(1), state: 'done' };
          await journal.write([{ put: finished }, { delete: { table: 'items', seq: 2 } }], 2);
          assert.deepEqual(await rowsOf(journal), [finished]);
          for (const seq of [1, 2]) assert.throws(() => journal.content(seq), isProblem('damaged'));
        });
      });
    }

    it('writes nothing of a batch in which one row is none, and goes on', async (t) => {
      const there = await place(t);
      await inJournal(there, async (journal) => {
        const withoutContent: Row = { ...itemRow(2), content: undefined };
        await assert.rejects(journal.write(puts([itemRow(1), withoutContent, itemRow(3)]), 1), TypeError);
        assert.deepEqual(await rowsOf(journal), []);
        await journal.write(puts([itemRow(4)]), 2);
      });
      await inJournal(there, async (journal) => assert.deepEqual(await rowsOf(journal), [asRead(itemRow(4))]));
    });

    it('refuses a second write before the first has ended', async (t) => {
      await inJournal(await place(t), async (journal) => {
        const first = journal.write(puts([itemRow(1)]), 1);
        await assert.rejects(journal.write(puts([itemRow(2)]), 2), TypeError);
        await first;
        assert.deepEqual(await rowsOf(journal), [asRead(itemRow(1))]);
      });
    });

    it('is closed when the write under way has ended', async (t) => {
      const there = await place(t);
      const journal = await there.open();
      const written = journal.write(puts([itemRow(1)]), 1);
      await journal.close();
      await written;
      await assert.rejects(journal.write(puts([itemRow(2)]), 2), TypeError);
      await inJournal(there, async (next) => assert.deepEqual(await rowsOf(next), [asRead(itemRow(1))]));
    });

    it('has one owner at a time', async (t) => {
      const there = await place(t);
      const journal = await there.open();
      await assert.rejects(() => there.open(), isProblem('in_use'));
      await journal.write(puts([itemRow(1)]), 1);
      await journal.close();
      await journal.close();
      await inJournal(there, async (next) => assert.deepEqual(await rowsOf(next), [asRead(itemRow(1))]));
    });

    it('reads many rows in slices, each once, in order', async (t) => {
      const there = await place(t);
      const count = 10_000;
      const seqs = Array.from({ length: count }, (_, at) => at * 3);
      await inJournal(there, (journal) => journal.write(puts(seqs.map((seq) => itemRow(seq))), 1));
      await inJournal(there, async (journal) => {
        let slices = 0;
        const found: number[] = [];
        for await (const rows of journal.read()) {
          slices += 1;
          for (const row of rows) if (row.table === 'items') found.push(row.seq);
        }
        assert.deepEqual(found, seqs);
        assert.ok(slices > 1, 'so many rows are more than one slice');
      });
    });

    it('holds after any batches what a Map would hold', async (t) => {
      const there = await place(t);
      await fc.assert(
        fc.asyncProperty(batches, async (changes) => {
          const model = new Map<string, Row>();
          await inJournal(there, async (journal) => {
            await journal.write(await emptying(journal), 0);
            for (const batch of changes)
              await journal.write(
                batch.map((change) => applied(model, change)),
                1,
              );
          });
          await inJournal(there, async (journal) => {
            const rows = await rowsOf(journal);
            assert.deepEqual(new Map(rows.map((row) => [idOf(row), row])), model);
          });
        }),
        { numRuns: 25 },
      );
    });
  });
}

/** Opens it, and closes it when that is done. */
async function inJournal<T>(place: Place, use: (journal: Journal) => Promise<T>): Promise<T> {
  const journal = await place.open();
  try {
    return await use(journal);
  } finally {
    await journal.close();
  }
}

export async function rowsOf(journal: Journal): Promise<readonly Row[]> {
  const all: Row[] = [];
  for await (const rows of journal.read()) all.push(...rows);
  return all;
}

/** Items come by `seq` and tokens by token; what has a name has no order. */
function withoutOrderOfNames(rows: readonly Row[]): readonly Row[] {
  const byName = new Set<Row['table']>(['keys', 'parks', 'leaders']);
  const named = (row: Row) => (byName.has(row.table) ? JSON.stringify(row) : '');
  return rows.toSorted((a, b) => (a.table === b.table ? named(a).localeCompare(named(b)) : 0));
}

export function isProblem(problem: JournalError['problem']) {
  return (error: unknown): boolean => error instanceof JournalError && error.problem === problem;
}

function finishedRow(seq: number): Extract<Row, { state: 'done' | 'superseded' | 'discarded' }> {
  return {
    table: 'items',
    seq,
    state: 'done',
    queue: 'orders',
    id: `item-${seq}`,
    result: undefined,
    error: undefined,
    attempt: 1,
    contentHash: undefined,
    until: 5,
  };
}

/** Few of them, so that the same ones are met again and again. */
const seqs = fc.integer({ min: 0, max: 12 });
const names = fc.constantFrom('', 'a', 'ab', 'b', 'ä');
const change: fc.Arbitrary<RowChange> = fc.oneof(
  fc.tuple(seqs, fc.nat({ max: 2_000 })).map(([seq, size]): RowChange => {
    return { put: itemRow(seq, { content: contentOf('p'.repeat(size)) }) };
  }),
  seqs.map((seq): RowChange => ({ put: finishedRow(seq) })),
  seqs.map((seq): RowChange => ({ delete: { table: 'items', seq } })),
  fc.tuple(names, names, names, fc.nat()).map(([queue, key, idempotencyKey, until]): RowChange => {
    return { put: { table: 'keys', queue, key, idempotencyKey, result: undefined, until } };
  }),
  fc.tuple(names, names, names).map(([queue, key, idempotencyKey]): RowChange => {
    return { delete: { table: 'keys', queue, key, idempotencyKey } };
  }),
  fc.tuple(names, names, fc.option(seqs, { nil: undefined })).map(([queue, key, lane]): RowChange => {
    return { put: { table: 'parks', queue, key, lane, since: 1, because: 'no_room', itemId: 'i' } };
  }),
  fc.tuple(names, names, fc.option(seqs, { nil: undefined })).map(([queue, key, lane]): RowChange => {
    return { delete: { table: 'parks', queue, key, lane } };
  }),
);
const batches = fc.array(fc.array(change, { maxLength: 20, size: 'max' }), { maxLength: 6, size: 'max' });

function applied(model: Map<string, Row>, made: RowChange): RowChange {
  if ('put' in made) model.set(idOf(made.put), asRead(made.put));
  else model.delete(idOf(made.delete));
  return made;
}

type Identified = Row | Extract<RowChange, { delete: unknown }>['delete'];

/** What is unique in its table, as text. Other than the journals', so that they do not share a mistake. */
function idOf(row: Identified): string {
  if (row.table === 'items') return `items ${row.seq}`;
  if (row.table === 'keys') return `keys ${[row.queue, row.key, row.idempotencyKey].map((name) => `<${name}>`).join()}`;
  if (row.table === 'parks') return `parks ${row.lane ?? '-'} <${row.queue}> <${row.key}>`;
  throw new TypeError(`the model makes no rows of ${row.table}`);
}

async function emptying(journal: Journal): Promise<readonly RowChange[]> {
  return (await rowsOf(journal)).map((row): RowChange => {
    if (row.table === 'items' || row.table === 'keys' || row.table === 'parks') return { delete: row };
    throw new TypeError(`the model makes no rows of ${row.table}`);
  });
}
