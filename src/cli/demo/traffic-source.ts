import { Buffer } from 'node:buffer';
import { Readable } from 'node:stream';
import type { LineSource } from '../replay/engine.js';
import { chooseFormat, openInput, READERS } from '../replay/input.js';
import { readLines } from '../replay/lines.js';
import type { Format, Reader } from '../replay/rows.js';
import { traffic } from '../traffic.js';

const MADE_UP = { seed: 2015, lines: 10_000 };

/** Malformed lines that a real log may have. */
const SKIP_BAD = 1_000;

/** Where the demo takes its traffic from. It is opened anew for each way through the sidecar. */
export interface TrafficSource {
  /** For people. */
  readonly what: string;
  open(key: string, limit: number, warn: (message: string) => void): Promise<LineSource>;
}

/** The user's own log, else made-up traffic of the shape of a real one. */
export function chooseTraffic(file: string | undefined, format: Format | undefined): TrafficSource {
  return file === undefined ? madeUp() : fileSource(file, `your own log, ${file}`, chooseFormat(file, format));
}

function fileSource(file: string, what: string, format: Format): TrafficSource {
  return {
    what,
    async open(key, limit, warn) {
      const input = await openInput(file);
      return source(READERS[format], input.bytes, file, { key, limit, warn, close: input.close });
    },
  };
}

function madeUp(): TrafficSource {
  return {
    what: `made-up requests of the shape of a real log (seed ${MADE_UP.seed})`,
    async open(key, limit, warn) {
      const stream = Readable.from(bytesOf(traffic(MADE_UP.seed, MADE_UP.lines)));
      return source(READERS.tsv, stream, 'made-up traffic', { key, limit, warn, close: () => stream.destroy() });
    },
  };
}

function* bytesOf(lines: Iterable<string>): Generator<Buffer, void, undefined> {
  for (const line of lines) yield Buffer.from(line);
}

interface Opening {
  readonly key: string;
  readonly limit: number;
  readonly warn: (message: string) => void;
  readonly close: () => void;
}

function source(reader: Reader, bytes: AsyncIterable<Buffer>, file: string, opening: Opening): LineSource {
  const { key, limit, warn, close } = opening;
  return { lines: readLines(reader, bytes, { file, key, limit, warn, skipBad: SKIP_BAD }), close };
}
