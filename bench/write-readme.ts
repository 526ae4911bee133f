/** Writes the kept run into the README once more: after its form has changed, or a run was taken over from elsewhere. */
import { readFile, writeFile } from 'node:fs/promises';
import type { KeptRun } from './latest.js';
import { withResults } from './readme.js';

/** From dist/bench. */
const README = new URL('../../README.md', import.meta.url);
const LATEST = new URL('../../bench/results/latest.json', import.meta.url);

// Our own main.ts wrote it.
const kept: KeptRun = JSON.parse(await readFile(LATEST, 'utf8'));
await writeFile(README, withResults(await readFile(README, 'utf8'), kept));
