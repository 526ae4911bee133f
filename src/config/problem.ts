/** What is wrong with the settings. Everything is gathered first: nobody should have to start five times to hear five complaints. */

interface Problem {
  /** The setting by its path in the file, as `queues.orders.lease`; empty for the file as a whole. */
  readonly setting: string;
  /** Where it was written: file, line and column, an environment variable, a flag. */
  readonly place: string;
  /** The value, and what is allowed. */
  readonly what: string;
}

/** A file of a megabyte can be wrong in a hundred thousand places; nobody reads more than this. */
const MOST_SHOWN = 50;

export class Problems {
  readonly #list: Problem[] = [];
  readonly #warnings: string[] = [];
  #more = 0;

  add(setting: string, place: string, what: string): void {
    if (this.#list.length < MOST_SHOWN) this.#list.push({ setting, place, what });
    else this.#more += 1;
  }

  /** What works, and is hardly what was meant. */
  warn(setting: string, place: string, what: string): void {
    if (this.#warnings.length < MOST_SHOWN) this.#warnings.push(describe({ setting, place, what }));
  }

  /** For people, one line each. */
  get warnings(): readonly string[] {
    return this.#warnings;
  }

  /** @throws ConfigError when there is a problem */
  throwIfAny(): void {
    if (this.#list.length > 0) throw new ConfigError(this.#list, this.#more);
  }
}

/** The settings cannot be used; nothing was started. Its message is meant for a person and has one line per problem. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[], more = 0) {
    const lines = problems.map((problem) => `  ${describe(problem)}`);
    if (more > 0) lines.push(`  … and ${more} more`);
    const count = problems.length + more;
    super(`${count === 1 ? '1 setting is' : `${count} settings are`} wrong:\n${lines.join('\n')}`);
    this.problems = problems;
  }
}

function describe({ setting, place, what }: Problem): string {
  return setting === '' ? `${place}: ${what}` : `${setting} (${place}): ${what}`;
}
