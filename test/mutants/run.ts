/** Tries mutants against the tests of their stages that execute them, a few at a time. */
import { join } from 'node:path';
import { ROOT } from '../project/repository.js';
import { type Executed, type ExecutedBy, isExecuted } from './executed.js';
import type { Mutant } from './mutants.js';
import type { Stage } from './stages.js';
import { type Outcome, putInOf, type Trial, tried } from './trial.js';
import { inFolder } from './workplace.js';

export interface Verdict {
  readonly mutant: Mutant;
  /** The stage and the test that saw it. */
  readonly seenBy: string | undefined;
  /** Some test came by it. */
  readonly isExecuted: boolean;
  readonly ms: number;
}

export interface Plan {
  readonly mutants: readonly Mutant[];
  readonly stagesOf: (path: string) => readonly Stage[];
  readonly together: number;
  readonly onVerdict: (verdict: Verdict) => void;
  readonly executed: Pick<ExecutedBy, 'of'>;
  readonly tried?: (trial: Trial) => Promise<Outcome>;
}

/** Another may need the machine meanwhile: what takes this many times as long and more is in a loop. */
const TIMES_LONGER = 5;
const AT_LEAST_MS = 30_000;

/** @returns the verdicts in the order of the mutants */
export async function run(plan: Plan): Promise<readonly Verdict[]> {
  const verdicts = new Map<Mutant, Verdict>();
  const judge = new Judge(plan);
  const waiting = [...plan.mutants];
  const work = async (folder: string) => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const verdict = await judge.verdict(mutant, folder);
      verdicts.set(mutant, verdict);
      plan.onVerdict(verdict);
    }
  };
  await Promise.all(Array.from({ length: plan.together }, () => inFolder('mutants', work)));
  return plan.mutants.flatMap((mutant) => verdicts.get(mutant) ?? []);
}

class Judge {
  readonly #plan: Plan;
  readonly #tried: (trial: Trial) => Promise<Outcome>;

  constructor(plan: Plan) {
    this.#plan = plan;
    this.#tried = plan.tried ?? tried;
  }

  async verdict(mutant: Mutant, folder: string): Promise<Verdict> {
    let ms = 0;
    let isExecuted = false;
    for (const stage of this.#plan.stagesOf(mutant.path)) {
      const { files, longest } = await this.#comingBy(mutant, stage);
      if (files.length === 0) continue;
      isExecuted = true;
      const limitMs = Math.max(AT_LEAST_MS, TIMES_LONGER * longest);
      const putIn = putInOf(mutant.compiled, mutant.text());
      const outcome = await this.#tried({ files, env: stage.env, mutant: putIn, folder, limitMs });
      ms += outcome.ms;
      const seenBy = outcome.is === 'red' ? outcome.by : 'it does not end';
      if (outcome.is !== 'green') return { mutant, seenBy: `${stage.name}: ${seenBy}`, isExecuted, ms };
    }
    return { mutant, seenBy: undefined, isExecuted, ms };
  }

  /** The tests of a stage that execute what was changed, the quickest first. */
  async #comingBy({ compiled, at }: Mutant, { files, env }: Stage) {
    const found: (Executed & { readonly file: string })[] = [];
    for (const file of files.map((path) => join(ROOT, 'dist', path.replace(/\.ts$/, '.js')))) {
      const executed = await this.#plan.executed.of(file, env);
      if (isExecuted(executed, compiled, at)) found.push({ file, ...executed });
    }
    found.sort((one, other) => one.ms - other.ms);
    return { files: found.map(({ file }) => file), longest: Math.max(0, ...found.map(({ ms }) => ms)) };
  }
}
