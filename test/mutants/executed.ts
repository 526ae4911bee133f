/**
 * Which parts of the source a test file executes, as V8 counts them, and how long it takes: a mutant is put only before tests
 * that come by it. Kept in `.cache/mutants` as long as nothing changes of what the test file loads.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ROOT } from '../project/repository.js';
import { type Trial, tried } from './trial.js';
import { inFolder } from './workplace.js';

export interface Executed {
  /** Without a mutant, but with V8 counting. */
  readonly ms: number;
  /** By compiled file of the source: where executed text begins, where it ends, where it begins again … */
  readonly parts: Readonly<Record<string, readonly number[]>>;
  /** Processes that it starts and kills tell nobody what they executed. */
  readonly startsProcesses: boolean;
}

/** What is kept of one. */
interface Kept extends Executed {
  /** All compiled files that were loaded, and what they were. */
  readonly loaded: Readonly<Record<string, string>>;
}

/** A file that NODE_V8_COVERAGE leaves behind, as far as it is of interest. */
interface Counted {
  readonly result: readonly { readonly url: string; readonly functions: readonly { readonly ranges: Ranges }[] }[];
}

type Ranges = readonly { readonly startOffset: number; readonly endOffset: number; readonly count: number }[];

const STARTS = /NodeProcess|GuardedProcess|\bspawn\(/;
/** What those processes run: journals. */
const IN_PROCESSES = join(ROOT, 'dist/src/local', sep);
const BUILT = join(ROOT, 'dist', sep);
const SOURCE = join(BUILT, 'src', sep);
/** Of one test without a mutant. */
const LONGEST_MS = 600_000;

export class ExecutedBy {
  readonly #known = new Map<string, Promise<Executed>>();
  readonly #hashes = new Map<string, string>();

  constructor(
    private readonly folder = join(ROOT, '.cache/mutants'),
    private readonly run: typeof tried = tried,
  ) {
    mkdirSync(folder, { recursive: true });
  }

  /**
   * @param file compiled, of the tests
   * @throws if it is red: it would see every mutant
   */
  of(file: string, env: Trial['env']): Promise<Executed> {
    const name = createHash('sha256')
      .update(JSON.stringify([file, env, process.version]))
      .digest('hex');
    const known = this.#known.get(name) ?? this.#lookedUp(join(this.folder, `${name}.json`), file, env);
    this.#known.set(name, known);
    return known;
  }

  async #lookedUp(keptIn: string, file: string, env: Trial['env']): Promise<Executed> {
    const kept = readKept(keptIn);
    if (kept !== undefined && Object.entries(kept.loaded).every(([path, hash]) => this.#hash(path) === hash))
      return kept;
    const found = await this.#count(file, env);
    writeFileSync(keptIn, JSON.stringify(found));
    return found;
  }

  #count(file: string, env: Trial['env']): Promise<Kept> {
    return inFolder('executed', async (folder) => {
      const counting = { ...env, NODE_V8_COVERAGE: folder };
      const outcome = await this.run({ files: [file], env: counting, mutant: undefined, folder, limitMs: LONGEST_MS });
      if (outcome.is !== 'green') {
        const why = outcome.is === 'red' ? `is red: ${outcome.by}` : 'does not end';
        throw new Error(`without any mutant ${file} ${why}`);
      }
      const counted = readdirSync(folder).map((name): Counted => JSON.parse(readFileSync(join(folder, name), 'utf8')));
      const startsProcesses = STARTS.test(readFileSync(file, 'utf8'));
      return { ms: outcome.ms, startsProcesses, ...this.#read(counted) };
    });
  }

  #read(counted: readonly Counted[]): Pick<Kept, 'parts' | 'loaded'> {
    const loaded: Record<string, string> = {};
    const painted = new Map<string, Uint8Array>();
    for (const { url, functions } of counted.flatMap(({ result }) => result)) {
      const path = url.startsWith('file:') ? fileURLToPath(url) : '';
      if (!path.startsWith(BUILT)) continue;
      loaded[path] ??= this.#hash(path);
      if (!path.startsWith(SOURCE)) continue;
      const places = painted.get(path) ?? new Uint8Array(readFileSync(path, 'utf8').length);
      paint(
        places,
        functions.flatMap(({ ranges }) => ranges),
      );
      painted.set(path, places);
    }
    return { loaded, parts: Object.fromEntries([...painted].map(([path, places]) => [path, boundsOf(places)])) };
  }

  #hash(path: string): string {
    const known = this.#hashes.get(path);
    if (known !== undefined) return known;
    const hash = createHash('sha256')
      .update(readIfThere(path) ?? '')
      .digest('hex');
    this.#hashes.set(path, hash);
    return hash;
  }
}

/** Whether it is, or may be. */
export function isExecuted({ parts, startsProcesses }: Executed, path: string, at: number): boolean {
  if (startsProcesses && path.startsWith(IN_PROCESSES)) return true;
  const bounds = parts[path] ?? [];
  return bounds.filter((bound) => bound <= at).length % 2 === 1;
}

/** Of ranges that lie in one another the innermost counts. What one process executed, it was executed. */
function paint(places: Uint8Array, ranges: Ranges): void {
  const here = new Uint8Array(places.length);
  const width = ({ startOffset, endOffset }: Ranges[number]) => endOffset - startOffset;
  for (const range of ranges.toSorted((one, other) => width(other) - width(one)))
    here.fill(range.count > 0 ? 1 : 0, range.startOffset, range.endOffset);
  for (const [at, isHere] of here.entries()) if (isHere === 1) places[at] = 1;
}

function boundsOf(places: Uint8Array): readonly number[] {
  const bounds: number[] = [];
  for (let at = 0; at <= places.length; at++) if ((places[at] ?? 0) !== (places[at - 1] ?? 0)) bounds.push(at);
  return bounds;
}

function readKept(path: string): Kept | undefined {
  const text = readIfThere(path);
  return text === undefined ? undefined : JSON.parse(text);
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
