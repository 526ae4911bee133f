/** The command line of the suite. */
import { parseArgs } from 'node:util';
import { facesOf, PLAYED } from './languages.js';

export interface Options {
  readonly languages: readonly string[];
  /** A scenario is played when its name has one of them; none: all are. */
  readonly words: readonly string[];
  readonly atOnce: number;
  readonly json: string | undefined;
  readonly markdown: string | undefined;
  readonly list: boolean;
  readonly logs: boolean;
}

/** What was written is not what is allowed. */
export class WrongOption extends Error {
  override readonly name = 'WrongOption';
}

const MOST_AT_ONCE = 64;

export const USAGE = `usage: main.js [options] [words of scenarios]
  --language a,b    of ${PLAYED.join(', ')}; default: all
  --at-once n       scenarios at the same time, 1 to ${MOST_AT_ONCE}; default 4
  --json file       the report for machines
  --markdown file   the report for documentation
  --logs            with each failure the last lines of sidecar and players
  --list            only tells which scenarios there are`;

/** @throws WrongOption */
export function optionsOf(args: readonly string[]): Options {
  const { values, positionals } = parsed(args);
  const atOnce = Number(values['at-once'] ?? 4);
  if (!Number.isSafeInteger(atOnce) || atOnce < 1 || atOnce > MOST_AT_ONCE) {
    throw new WrongOption(`--at-once is ${values['at-once']}; allowed is a whole number from 1 to ${MOST_AT_ONCE}`);
  }
  return {
    languages: languagesOf(values.language),
    words: positionals,
    atOnce,
    json: values.json,
    markdown: values.markdown,
    list: values.list === true,
    logs: values.logs === true,
  };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        language: { type: 'string' },
        'at-once': { type: 'string' },
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
