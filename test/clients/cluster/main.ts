/**
 * The conformance suite in a cluster: clients talk to a gateway, behind which are two homes and a Redis.
 *
 *     node dist/test/clients/cluster/main.js --language python
 *     node dist/test/clients/cluster/main.js --all --language go spool drain
 *
 * Options and exit codes are those of the suite. What is left out stands in left-out.ts, with the reason; `--all` leaves out
 * only what cannot hold in a cluster.
 */
import { messageOf } from '../../../clients/conformance/fields.js';
import { SCENARIOS } from '../../../clients/conformance/languages.js';
import { optionsOf, USAGE, WrongOption } from '../../../clients/conformance/options.js';
import { chosen, run } from '../../../clients/conformance/run.js';
import { loadFolder } from '../../../clients/conformance/scenario/load.js';
import { Homes } from './homes.js';
import { leftOut } from './left-out.js';

type Task = () => Promise<unknown> | unknown;

const ALL = '--all';

async function main(args: readonly string[], after: (task: Task) => void): Promise<number> {
  const options = optionsOf(args.filter((word) => word !== ALL));
  const scenarios = chosen(loadFolder(SCENARIOS), options.words);
  const everything = args.includes(ALL);
  const isPlayed = (language: string) => (id: string) => leftOut(id, language, everything) === undefined;
  const ofLanguage = (language: string) => scenarios.filter(({ id }) => isPlayed(language)(id));
  if (!options.list) return run(options, ofLanguage, await Homes.start({ after }, scenarios, options.languages));
  for (const language of options.languages)
    for (const { id } of scenarios)
      process.stdout.write(`${language}  ${id}${why(leftOut(id, language, everything))}\n`);
  return 0;
}

function why(reason: string | undefined): string {
  return reason === undefined ? '' : `  (left out: ${reason})`;
}

const tasks: Task[] = [];
try {
  process.exitCode = await main(process.argv.slice(2), (task) => void tasks.unshift(task));
} catch (error) {
  if (!(error instanceof WrongOption)) throw error;
  process.stderr.write(`${messageOf(error)}\n${USAGE}\n  ${ALL}             what is left out to save time, too\n`);
  process.exitCode = 2;
} finally {
  for (const task of tasks) await task();
}
