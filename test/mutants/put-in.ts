/**
 * `node --import` of this, with MUTANT: a file that says which module is replaced by what. All processes and threads that
 * inherit NODE_OPTIONS have it. What was built stays as it is, so that two mutants run at the same time.
 */
import { readFileSync } from 'node:fs';
import { register } from 'node:module';

const { MUTANT } = process.env;
if (MUTANT !== undefined)
  register('./module-hooks.js', import.meta.url, { data: JSON.parse(readFileSync(MUTANT, 'utf8')) });
