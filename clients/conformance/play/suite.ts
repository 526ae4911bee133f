/** All scenarios with all languages, several at the same time. */
import { messageOf } from '../fields.js';
import type { Scenario } from '../scenario/model.js';
import type { Behind } from './behind.js';
import { Budget } from './budget.js';
import { play, type Verdict } from './play.js';
import { PlayerPool } from './player-pool.js';
import { SharedSidecar } from './shared-sidecar.js';

export interface Language {
  readonly name: string;
  /** What is run. */
  readonly player: string;
  readonly args?: readonly string[];
}

export interface SuiteOptions {
  readonly atOnce: number;
  readonly onVerdict: (verdict: Verdict) => void;
  /** All that are played in this run: scenarios that mix languages take others from these. Unset: there are no others. */
  readonly all?: readonly Language[];
  /** Unset: sidecars stand alone. */
  readonly behind?: Behind;
  /** Unset: everything is played. */
  readonly budget?: Budget;
}

/** One language after another, so that none is measured while another one is busy. */
export async function playAll(
  scenarios: readonly Scenario[],
  languages: readonly Language[],
  options: SuiteOptions,
): Promise<readonly Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const language of languages) {
    const ofLanguage = await playLanguage(scenarios, language, options);
    verdicts.push(...ofLanguage);
  }
  return verdicts;
}

async function playLanguage(
  scenarios: readonly Scenario[],
  { name, player, args = [] }: Language,
  { atOnce, onVerdict, behind, budget = new Budget(undefined, 1), all = [] }: SuiteOptions,
): Promise<readonly Verdict[]> {
  const pool = new PlayerPool(name, player, args);
  const missing = await whyNot(pool);
  const others = othersThan(name, all);
  const shared = missing === undefined ? await SharedSidecar.start(scenarios, name, behind) : undefined;
  const verdicts = new Map<Scenario, Verdict>();
  const share = budget.ofNextLanguage(scenarios);
  const told = (verdict: Verdict): void => {
    verdicts.set(verdict.scenario, verdict);
    budget.took(verdict.scenario, verdict.ms);
    onVerdict(verdict);
  };
  const run = async (): Promise<void> => {
    for (let scenario = share.next(); scenario !== undefined; scenario = share.next()) {
      told(
        missing === undefined
          ? await play(scenario, pool, { shared, behind, others })
          : { scenario, language: name, ms: 0, failure: missing },
      );
    }
  };
  await Promise.all(Array.from({ length: atOnce }, run));
  budget.skip(name, share.left);
  const wrong = (await Promise.all([pool, ...others].map((one) => one.end()))).flat();
  await shared?.close();
  const inOrder = scenarios.flatMap((scenario) => verdicts.get(scenario) ?? []);
  if (wrong.length === 0) return inOrder;
  const verdictsWithBlame = blamed(inOrder, wrong);
  // It was reported as passed: now with what is wrong.
  for (const last of verdictsWithBlame.slice(-1)) onVerdict(last);
  return verdictsWithBlame;
}

/** Those after it, then those before, so that each meets each. */
function othersThan(name: string, all: readonly Language[]): readonly PlayerPool[] {
  const at = all.findIndex((language) => language.name === name);
  const others = [...all.slice(at + 1), ...all.slice(0, Math.max(at, 0))];
  return others.map(({ name, player, args = [] }) => new PlayerPool(name, player, args));
}

/** A player that does not start fails every scenario, in the same words; it is not started for each of them. */
async function whyNot(pool: PlayerPool): Promise<string | undefined> {
  try {
    pool.giveBack(await pool.borrow());
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** A player that does not end as it should is the failure of the last scenario: nobody knows of which it is. */
function blamed(verdicts: readonly Verdict[], wrong: readonly string[]): readonly Verdict[] {
  const last = verdicts.at(-1);
  if (last === undefined) return verdicts;
  const failure = [last.failure ?? [], `after all scenarios: ${wrong.join('\n')}`].flat().join('\n');
  return [...verdicts.slice(0, -1), { ...last, failure }];
}
