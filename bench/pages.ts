/** Writes a kept run into the pages that show it. */
import { readFile, writeFile } from 'node:fs/promises';
import type { KeptRun } from './latest.js';
import { withDurability, withFigures, withResults } from './readme.js';

/** From dist/bench. */
const README = new URL('../../README.md', import.meta.url);
const BENCHMARKS = new URL('../../docs/BENCHMARKS.md', import.meta.url);
const DURABILITY = new URL('../../docs/DURABILITY.md', import.meta.url);

export async function writePages(kept: KeptRun): Promise<void> {
  await writeFile(README, withFigures(await readFile(README, 'utf8'), kept));
  await writeFile(BENCHMARKS, withResults(await readFile(BENCHMARKS, 'utf8'), kept));
  await writeFile(DURABILITY, withDurability(await readFile(DURABILITY, 'utf8'), kept));
}
