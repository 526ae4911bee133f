/**
 * The judge of leaders: what all players noted, in the order in which they did, of the phases of each term. Nobody who leads
 * writes it, so that no two who believe that they lead can hide it.
 */
import { readFileSync } from 'node:fs';
import type { Fields } from '../fields.js';

/** From the first note of a term to its last. */
interface Life {
  readonly term: number;
  readonly candidate: string;
  readonly phases: string[];
  readonly first: number;
  last: number;
  /** Phases that began and did not end: its process is gone, or stands still. */
  open: number;
}

/**
 * @returns `lives` in the order in which they began; `overlaps`, pairs of terms of which the later began before the earlier had
 * ended; `grows`, whether each has a larger term than the one before. Who is `deaf` (killed, standing still) overlaps nobody.
 */
export function livesIn({ ledger, group, deaf }: Fields): Fields {
  const lives = new Map<number, Life>();
  for (const [at, line] of readFileSync(String(ledger), 'utf8').split('\n').entries()) {
    const [what = '', phase = '', of, term, candidate = ''] = line.split('\t');
    if (of === group) note(lives, at, { what, phase, term: Number(term), candidate });
  }
  const inOrder = [...lives.values()];
  const isDeaf = ({ candidate }: Life): boolean => Array.isArray(deaf) && deaf.includes(candidate);
  return {
    lives: inOrder.map(({ term, candidate, phases }) => ({ term, candidate, phases })),
    overlaps: inOrder.flatMap((life, at) => {
      const until = life.open > 0 ? Number.POSITIVE_INFINITY : life.last;
      const within = isDeaf(life) ? [] : inOrder.slice(at + 1).filter(({ first }) => first < until);
      return within.map(({ term }) => [life.term, term]);
    }),
    grows: inOrder.every(({ term }, at) => at === 0 || term > (inOrder[at - 1]?.term ?? 0)),
  };
}

interface Note {
  readonly what: string;
  readonly phase: string;
  readonly term: number;
  readonly candidate: string;
}

function note(lives: Map<number, Life>, at: number, { what, phase, term, candidate }: Note): void {
  const life = lives.get(term) ?? { term, candidate, phases: [], first: at, last: at, open: 0 };
  lives.set(term, life);
  life.last = at;
  life.open += what === 'start' ? 1 : -1;
  if (what === 'start') life.phases.push(phase);
}
