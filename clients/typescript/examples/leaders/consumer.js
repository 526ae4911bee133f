/**
 * A consumer of a log of which exactly one instance works at a time, as a consumer of Kafka with one partition: it reads on where
 * the one before has stopped. Here the log is a file, line by line, and so is what is made of it.
 *
 * The offset is handed over as state. A leader that is lost leaves none of its own: its successor has that of the last hand-over,
 * and looks at what it writes to how far the lost one had come.
 */
import { appendFile, open, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '@keyturn/client';

const { KEYTURN_ADDRESS = '127.0.0.1:7420', GROUP = 'consumer', LOG = 'log.txt', OUT = 'out.jsonl' } = process.env;

const keyturn = connect(KEYTURN_ADDRESS);
let offset = 0;

const leadership = keyturn.lead(GROUP, {
  async inaugurate(_term, { how, state }) {
    offset = Math.max(Number(Buffer.from(state).toString() || 0), how === 'lost' ? await lastWritten() : 0);
  },
  async execute(term, signal) {
    console.log(JSON.stringify({ leads: true, term, offset }));
    const log = await open(LOG);
    try {
      while (!signal.aborted) {
        const line = await lineAt(log, offset);
        if (line === undefined) await sleep(50);
        else {
          // The term goes along: what is written to may refuse one that is smaller than it has seen.
          const next = offset + Buffer.byteLength(line) + 1;
          await appendFile(OUT, `${JSON.stringify({ line, next, term })}\n`);
          offset = next;
        }
      }
    } finally {
      await log.close();
    }
  },
  handOver: () => String(offset),
});

/** @param {import('node:fs/promises').FileHandle} log @param {number} from */
async function lineAt(log, from) {
  const { buffer, bytesRead } = await log.read({ buffer: Buffer.alloc(4_096), position: from });
  const end = buffer.subarray(0, bytesRead).indexOf('\n');
  return end < 0 ? undefined : buffer.subarray(0, end).toString();
}

/** How far anybody has come. */
async function lastWritten() {
  const lines = (await readFile(OUT, 'utf8')).trimEnd().split('\n');
  return Number(JSON.parse(lines.at(-1) || '{"next":0}').next);
}

const stop = async () => {
  await leadership.stop();
  await keyturn.close();
};
process.once('SIGTERM', () => void stop());
process.once('SIGINT', () => void stop());
