/**
 * The conformance suite: plays scenarios against a real sidecar with the players of the clients, and reports.
 *
 *     node dist/clients/conformance/main.js --language typescript,go spool drain
 *
 * Exit code 0: everything passed; 1: something failed; 2: wrong arguments or scenario files.
 */
import { messageOf } from './fields.js';
import { SCENARIOS } from './languages.js';
import { optionsOf, USAGE, WrongOption } from './options.js';
import { chosen, run } from './run.js';
import { loadFolder, WrongScenarios } from './scenario/load.js';

async function main(): Promise<number> {
  const options = optionsOf(process.argv.slice(2));
  const scenarios = chosen(
    loadFolder(SCENARIOS).filter(({ cluster }) => !cluster),
    options.words,
  );
  if (!options.list) return run(options, () => scenarios);
  for (const { id } of scenarios) process.stdout.write(`${id}\n`);
  return 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  const isTheirs = error instanceof WrongOption || error instanceof WrongScenarios;
  if (!isTheirs) throw error;
  process.stderr.write(`${messageOf(error)}\n${error instanceof WrongOption ? `${USAGE}\n` : ''}`);
  process.exitCode = 2;
}
