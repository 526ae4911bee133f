/**
 * A budget of time for a run: every language plays one scenario of each file, and of the others, in an order by lot, as many as
 * there is time for. Without a budget all are played.
 */
import type { Scenario } from '../scenario/model.js';
import { mayShare } from './shared-sidecar.js';

export interface BudgetSettings {
  readonly seconds: number;
  /** The same seed, the same order. */
  readonly seed: number;
}

interface Skipped {
  readonly language: string;
  readonly scenarios: readonly Scenario[];
}

export class Budget {
  readonly skipped: Skipped[] = [];
  readonly #end: number | undefined;
  /** ms that a scenario took with the language before. */
  readonly #took = new Map<Scenario, number>();
  #languagesLeft: number;

  /** @param settings unset: there is time for everything */
  constructor(
    private readonly settings: BudgetSettings | undefined,
    languages: number,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.#languagesLeft = languages;
    if (settings !== undefined) this.#end = now() + settings.seconds * 1_000;
  }

  took(scenario: Scenario, ms: number): void {
    this.#took.set(scenario, ms);
  }

  /** An equal share of the time that is left, for the next language. */
  ofNextLanguage(scenarios: readonly Scenario[]): Share {
    const number = this.#languagesLeft;
    this.#languagesLeft -= 1;
    if (this.settings === undefined || this.#end === undefined)
      return new Share(longestFirst(scenarios, this.#took), 0, () => true);
    const end = this.now() + (this.#end - this.now()) / number;
    const mixed = byLot(scenarios, this.settings.seed + number);
    const first = [...new Map(mixed.map((scenario) => [scenario.file, scenario])).values()];
    const rest = mixed.filter((scenario) => !first.includes(scenario));
    return new Share([...first, ...rest], first.length, () => this.now() < end);
  }

  skip(language: string, scenarios: readonly Scenario[]): void {
    if (scenarios.length > 0) this.skipped.push({ language, scenarios });
  }

  /** What was skipped, for people; empty: nothing was. */
  get told(): string {
    if (this.settings === undefined || this.skipped.length === 0) return '';
    const { seconds, seed } = this.settings;
    const count = this.skipped.reduce((sum, { scenarios }) => sum + scenarios.length, 0);
    const lines = this.skipped.flatMap(({ language, scenarios }) => [
      `  ${language}: ${scenarios.length}`,
      ...scenarios.map(({ id }) => `    ${id}`),
    ]);
    const head = `skipped after ${seconds} s: ${count} scenarios (--budget ${seconds} --seed ${seed} chose them)`;
    return `${[head, ...lines].join('\n')}\n`;
  }
}

/** The scenarios of one language, in their order. */
class Share {
  readonly #left: Scenario[];
  #begun = 0;

  constructor(
    scenarios: readonly Scenario[],
    /** So many are played however late it is. */
    private readonly always: number,
    private readonly hasTime: () => boolean,
  ) {
    this.#left = [...scenarios];
  }

  /** Unset: there are no more, or there is no time for more. */
  next(): Scenario | undefined {
    if (this.#begun >= this.always && !this.hasTime()) return undefined;
    this.#begun += 1;
    return this.#left.shift();
  }

  /** Those that nobody began. */
  get left(): readonly Scenario[] {
    return this.#left;
  }
}

/**
 * What takes long and begins last is waited for while nothing else is played. As long as no language has been played, scenarios with
 * sidecars of their own count as the longest.
 */
function longestFirst(scenarios: readonly Scenario[], took: ReadonlyMap<Scenario, number>): readonly Scenario[] {
  const likely = [...scenarios.filter((one) => !mayShare(one)), ...scenarios.filter(mayShare)];
  return likely.toSorted((one, other) => (took.get(other) ?? 0) - (took.get(one) ?? 0));
}

/** A linear congruential generator: what is skipped need be different each time, and nothing more. */
function byLot<T>(all: readonly T[], seed: number): readonly T[] {
  let state = seed >>> 0;
  const numbers = all.map(() => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state;
  });
  return all
    .map((one, at) => ({ one, number: numbers[at] ?? 0 }))
    .toSorted((a, b) => a.number - b.number)
    .map(({ one }) => one);
}
