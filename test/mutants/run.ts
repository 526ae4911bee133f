/** Tries mutants against their stages, a few at a time. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../project/repository.js';
import type { Mutant } from './mutants.js';
import type { Stage } from './stages.js';
import { type Outcome, putInOf, type Trial, tried } from './trial.js';

export interface Verdict {
  readonly mutant: Mutant;
  /** The stage and the test that saw it. */
  readonly seenBy: string | undefined;
  readonly ms: number;
}

export interface Plan {
  readonly mutants: readonly Mutant[];
  readonly stagesOf: (path: string) => readonly Stage[];
  readonly together: number;
  readonly onVerdict: (verdict: Verdict) => void;
  readonly tried?: (trial: Trial) => Promise<Outcome>;
}

/** Another may need the machine meanwhile: what takes this many times as long and more is in a loop. */
const TIMES_LONGER = 5;
const AT_LEAST_MS = 30_000;
/** Without a mutant. */
const LONGEST_MS = 600_000;

/** @returns the verdicts in the order of the mutants */
export async function run(plan: Plan): Promise<readonly Verdict[]> {
  const verdicts = new Map<Mutant, Verdict>();
  const judge = new Judge(plan);
  const waiting = [...plan.mutants];
  const work = async () => {
    const folder = mkdtempSync(join(tmpdir(), 'keyturn-mutants-'));
    try {
      for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
        const verdict = await judge.verdict(mutant, folder);
        verdicts.set(mutant, verdict);
        plan.onVerdict(verdict);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  };
  await Promise.all(Array.from({ length: plan.together }, work));
  return plan.mutants.flatMap((mutant) => verdicts.get(mutant) ?? []);
}

class Judge {
  readonly #plan: Plan;
  readonly #tried: (trial: Trial) => Promise<Outcome>;
  /** How long a stage takes without a mutant. */
  readonly #usual = new Map<string, Promise<number>>();

  constructor(plan: Plan) {
    this.#plan = plan;
    this.#tried = plan.tried ?? tried;
  }

  async verdict(mutant: Mutant, folder: string): Promise<Verdict> {
    let ms = 0;
    for (const stage of this.#plan.stagesOf(mutant.path)) {
      const limitMs = Math.max(AT_LEAST_MS, TIMES_LONGER * (await this.#usualOf(stage, folder)));
      const outcome = await this.#tried(this.#trial(stage, folder, limitMs, mutant));
      ms += outcome.ms;
      if (outcome.is === 'endless') return { mutant, seenBy: `${stage.name}: it does not end`, ms };
      if (outcome.is === 'red') return { mutant, seenBy: `${stage.name}: ${outcome.by}`, ms };
    }
    return { mutant, seenBy: undefined, ms };
  }

  /** Red without a mutant would see every one of them. */
  #usualOf(stage: Stage, folder: string): Promise<number> {
    const name = stage.files.join(' ');
    const known = this.#usual.get(name);
    if (known !== undefined) return known;
    const usual = this.#tried(this.#trial(stage, folder, LONGEST_MS, undefined)).then((outcome) => {
      if (outcome.is === 'green') return outcome.ms;
      const why = outcome.is === 'red' ? `is red: ${outcome.by}` : 'does not end';
      throw new Error(`without any mutant ${stage.name} ${why}; run npm test -- ${stage.files.join(' ')}`);
    });
    this.#usual.set(name, usual);
    return usual;
  }

  #trial(stage: Stage, folder: string, limitMs: number, mutant: Mutant | undefined): Trial {
    return {
      files: stage.files.map((file) => join(ROOT, 'dist', file.replace(/\.ts$/, '.js'))),
      env: stage.env,
      mutant: mutant === undefined ? undefined : putInOf(mutant.compiled, mutant.text()),
      folder,
      limitMs,
    };
  }
}
