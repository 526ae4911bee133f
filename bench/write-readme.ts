/** Writes the kept run into its pages once more: after their form has changed, or a run was taken over from elsewhere. */
import { readFile } from 'node:fs/promises';
import type { KeptRun } from './latest.js';
import { writePages } from './pages.js';

/** From dist/bench. */
const LATEST = new URL('../../bench/results/latest.json', import.meta.url);

// Our own main.ts wrote it.
const kept: KeptRun = JSON.parse(await readFile(LATEST, 'utf8'));
await writePages(kept);
