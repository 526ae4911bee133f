import { Command, CommanderError, InvalidArgumentError } from 'commander';
import type { Row } from './row.js';

/** Names for several rows at once. */
type Groups = ReadonlyMap<string, readonly string[]>;

export interface Options {
  /** In the order of the registry. */
  readonly rows: ReadonlyMap<string, Row>;
  /** Rows that take long and were not asked for: they are said not to have run. */
  readonly left: ReadonlyMap<string, Row>;
  readonly json: boolean;
  readonly check: boolean;
  /** These rows take their places in the kept run. */
  readonly keep: boolean;
  /** A directory for CPU profiles. */
  readonly profile: string | undefined;
  /** A commit that is compared with this tree, as git knows it. Unset: peers are. */
  readonly against: string | undefined;
}

interface Flags {
  readonly only?: ReadonlyMap<string, Row>;
  readonly all?: boolean;
  readonly json?: boolean;
  readonly check?: boolean;
  readonly keep?: boolean;
  readonly profile?: string;
  readonly against?: string;
}

/** Ends the process for `--help` (0) and for flags that are wrong (2). */
export function readOptions(args: readonly string[], rows: ReadonlyMap<string, Row>, groups: Groups): Options {
  const command = new Command('npm run bench --')
    .description(`Measures Keyturn against its peers.\n\nRows:\n${listRows(rows, groups)}`)
    .option('--only <rows>', 'run only these rows, for example core,unary', (names) => chooseRows(names, rows, groups))
    .option('--all', 'run also the rows that take long and run only when they are named otherwise')
    .option(
      '--keep',
      'with --only: put these rows into the kept run and its pages, each with its machine, day and commit, instead of replacing the run',
    )
    .option('--json', 'print the figures as JSON instead of the table')
    .option('--check', 'exit code 1 when a row falls short of what is enough, or was not measured')
    .option(
      '--against <commit>',
      'compare this tree with another commit instead of the peers: builds it below .cache/against, runs both in turn, keeps no figures; with --check, exit code 1 when a row is worse',
    )
    .option('--profile <directory>', 'write CPU profiles there; the figures are not to be trusted then')
    .exitOverride();
  try {
    command.parse(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    process.exit(error.exitCode === 0 ? 0 : 2);
  }
  const { only, all = false, json = false, check = false, keep = false, profile, against } = command.opts<Flags>();
  if (against !== undefined && profile !== undefined)
    command.error('error: --against and --profile do not go together: profiled figures are not to be trusted');
  if (keep && (only === undefined || against !== undefined || profile !== undefined))
    command.error('error: --keep goes with --only, and not with --against or --profile');
  const chosen = only === undefined ? runOf(rows, all) : { rows: only, left: new Map<string, Row>() };
  return { ...chosen, json, check, keep, profile, against };
}

/** What a run of everything runs, and what it leaves. */
export function runOf(rows: ReadonlyMap<string, Row>, all: boolean): Pick<Options, 'rows' | 'left'> {
  const isLeft = ([, row]: readonly [string, Row]) => !all && row.unlessAsked !== undefined;
  return { rows: new Map([...rows].filter((row) => !isLeft(row))), left: new Map([...rows].filter(isLeft)) };
}

/** The rows of a list like `core,unary`, in the order of the registry. Throws with all the names that there are. */
export function chooseRows(names: string, rows: ReadonlyMap<string, Row>, groups: Groups): ReadonlyMap<string, Row> {
  const asked = names.split(',').map((name) => name.trim());
  const wanted = new Set(asked.flatMap((name) => groups.get(name) ?? [name]));
  const unknown = [...wanted].filter((name) => !rows.has(name));
  if (unknown.length > 0) {
    const said = unknown.map((name) => `'${name}'`).join(', ');
    throw new InvalidArgumentError(`There is no row ${said}. The rows are:\n${listRows(rows, groups)}`);
  }
  return new Map([...rows].filter(([name]) => wanted.has(name)));
}

function listRows(rows: ReadonlyMap<string, Row>, groups: Groups): string {
  const told = [...rows].map(([name, { what }]) => [name, what] as const);
  const gathered = [...groups].map(([name, members]) => [name, `the rows ${members.join(' and ')}`] as const);
  const width = Math.max(...[...rows.keys(), ...groups.keys()].map((name) => name.length));
  return [...told, ...gathered].map(([name, what]) => `  ${name.padEnd(width)}  ${what}`).join('\n');
}
