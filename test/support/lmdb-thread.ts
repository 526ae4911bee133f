/** The other side of the bridge: asks are answered one after the other. */
import { type MessagePort, workerData } from 'node:worker_threads';
import type { Content, RowChange } from '../../src/core/contract/rows.js';
import type { Journal, JournalPast } from '../../src/local/journal/journal.js';
import { openJournal } from '../../src/local/journal/lmdb/lmdb-journal.js';

interface Questions {
  readonly open: { readonly directory: string };
  readonly write: { readonly changes: readonly RowChange[]; readonly at: number };
  readonly content: { readonly seq: number };
  readonly close: object;
}

interface Answers {
  readonly open: { readonly past: JournalPast };
  readonly write: object;
  readonly content: { readonly content: Content };
  readonly close: object;
}

type Asked = keyof Questions;
export type Question = { [A in Asked]: { readonly ask: A; readonly journal: number } & Questions[A] }[Asked];
export type Answer<Q extends Question> = Answers[Q['ask']];

interface Given {
  readonly port: MessagePort;
  readonly signal: Int32Array;
}

const journals = new Map<number, Journal>();

async function answer(question: Question): Promise<Answers[Asked]> {
  if (question.ask === 'open') {
    const journal = await openJournal(question.directory);
    journals.set(question.journal, journal);
    return { past: journal.before };
  }
  const journal = journals.get(question.journal);
  switch (question.ask) {
    case 'write':
      await journal?.write(question.changes, question.at);
      return {};
    case 'content':
      if (journal === undefined) throw new Error('the journal is closed');
      return { content: journal.content(question.seq) };
    case 'close':
      journals.delete(question.journal);
      await journal?.close();
      return {};
  }
}

const { port, signal }: Given = workerData;
port.on('message', (question: Question) => {
  answer(question)
    .then(
      (given) => port.postMessage({ answer: given }),
      (error: unknown) => port.postMessage({ error }),
    )
    .finally(() => {
      Atomics.store(signal, 0, 1);
      Atomics.notify(signal, 0);
    });
});
