/** The command line of the suite. */
import { parseArgs } from 'node:util';
import { facesOf, PLAYED } from './languages.js';
import type { BudgetSettings } from './play/budget.js';

export interface Options {
  readonly languages: readonly string[];
  /** A scenario is played when its name has one of them; none: all are. */
  readonly words: readonly string[];
  readonly atOnce: number;
  readonly json: string | undefined;
  readonly markdown: string | undefined;
  readonly list: boolean;
  readonly logs: boolean;
  /** Unset: everything is played. */
  readonly budget: BudgetSettings | undefined;
}

/** What was written is not what is allowed. */
export class WrongOption extends Error {
  override readonly name = 'WrongOption';
}

const MOST_AT_ONCE = 64;
const LONGEST_BUDGET_S = 36_000;
const LARGEST_SEED = 4_294_967_295;

export const USAGE = `usage: main.js [options] [words of scenarios]
  --language a,b    of ${PLAYED.join(', ')}; default: all
  --at-once n       scenarios at the same time, 1 to ${MOST_AT_ONCE}; default 4
  --budget n        play one scenario of each file, and others by lot for n seconds; print what was skipped
  --seed n          the order of --budget; default: another one each time
  --json file       the report for machines
  --markdown file   the report for documentation
  --logs            with each failure the last lines of sidecar and players
  --list            only tells which scenarios there are`;

/** @throws WrongOption */
export function optionsOf(args: readonly string[]): Options {
  const { values, positionals } = parsed(args);
  const atOnce = whole('at-once', values['at-once'] ?? '4', 1, MOST_AT_ONCE);
  return {
    languages: languagesOf(values.language),
    words: positionals,
    atOnce,
    json: values.json,
    markdown: values.markdown,
    list: values.list === true,
    logs: values.logs === true,
    budget: budgetOf(values),
  };
}

function budgetOf(values: { readonly budget?: string; readonly seed?: string }): BudgetSettings | undefined {
  if (values.budget === undefined) return undefined;
  const seconds = whole('budget', values.budget, 1, LONGEST_BUDGET_S);
  const seed = whole('seed', values.seed ?? String(Math.floor(Date.now() / 1_000)), 0, LARGEST_SEED);
  return { seconds, seed };
}

/** @throws WrongOption */
function whole(option: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
  throw new WrongOption(`--${option} is ${text}; allowed is a whole number from ${least} to ${most}`);
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        language: { type: 'string' },
        'at-once': { type: 'string' },
        budget: { type: 'string' },
        seed: { type: 'string' },
        json: { type: 'string' },
        markdown: { type: 'string' },
        list: { type: 'boolean' },
        logs: { type: 'boolean' },
      },
    });
  } catch (error) {
    throw new WrongOption(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function languagesOf(words: string | undefined): readonly string[] {
  if (words === undefined) return PLAYED;
  const languages = words.split(',').filter((word) => word !== '');
  for (const language of languages) {
    if (!PLAYED.includes(language)) {
      throw new WrongOption(`--language is ${language}; allowed are ${PLAYED.join(', ')}`);
    }
  }
  return [...new Set(languages.flatMap((language) => facesOf(language)))];
}
