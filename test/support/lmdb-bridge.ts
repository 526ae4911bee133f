/**
 * The journal in LMDB for tests that look at answers right after their calls: it runs in a thread of its own, and who
 * calls it waits for that thread. The files are on a disk of memory, where there is one: their contents are what is
 * tested here, not how fast they are flushed.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads';
import type { Journal } from '../../src/local/journal/journal.js';
import type { Answer, Question } from './lmdb-thread.js';
import { Done } from './prompt-journal.js';

/** How many journals are open: a case that began long ago needs its own no more. */
const OPEN = 16;
/** ms */
const LONGEST_ANSWER = 30_000;

export class LmdbBridge {
  readonly #directory = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'keyturn-'));
  readonly #signal = new Int32Array(new SharedArrayBuffer(4));
  readonly #channel = new MessageChannel();
  readonly #thread: Worker;
  #journals = 0;

  constructor() {
    const port = this.#channel.port2;
    const workerData = { port, signal: this.#signal };
    this.#thread = new Worker(new URL('./lmdb-thread.js', import.meta.url), { workerData, transferList: [port] });
    this.#thread.unref();
  }

  /** A new one, in a directory of its own. */
  open(): Journal {
    this.#journals += 1;
    const journal = this.#journals;
    if (journal > OPEN) this.#ask({ ask: 'close', journal: journal - OPEN });
    const before = this.#ask({ ask: 'open', journal, directory: join(this.#directory, String(journal)) });
    return {
      before: before.past,
      // biome-ignore lint/correctness/useYield: there is nothing on a new one
      async *read() {
        throw new Error('only new journals are bridged');
      },
      write: (changes, at) => {
        this.#ask({ ask: 'write', journal, changes, at });
        return new Done((resolve) => resolve(undefined));
      },
      content: (seq) => this.#ask({ ask: 'content', journal, seq }).content,
      close: async () => void this.#ask({ ask: 'close', journal }),
    };
  }

  async end(): Promise<void> {
    await this.#thread.terminate();
    rmSync(this.#directory, { recursive: true });
  }

  #ask<Q extends Question>(question: Q): Answer<Q> {
    Atomics.store(this.#signal, 0, 0);
    this.#channel.port1.postMessage(question);
    // Looked at again: what wakes may still be meant for the question before.
    while (Atomics.load(this.#signal, 0) === 0)
      if (Atomics.wait(this.#signal, 0, 0, LONGEST_ANSWER) === 'timed-out') throw new Error('the thread is stuck');
    const received: { readonly message: { readonly answer: Answer<Q> } | { readonly error: Error } } | undefined =
      receiveMessageOnPort(this.#channel.port1);
    if (received === undefined) throw new Error('the thread answered nothing');
    if ('error' in received.message) throw received.message.error;
    return received.message.answer;
  }
}
