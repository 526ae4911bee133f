import { Grouped } from './grouped.js';
import { Hashed } from './hashed.js';
import { Keyturn } from './keyturn.js';
import { Locked } from './locked.js';
import type { Design, Stage } from './stage.js';

export const DESIGNS = ['hashed', 'grouped', 'spinning', 'returning', 'keyturn', 'coalescing'] as const;
export type DesignName = (typeof DESIGNS)[number];

/** For people. */
export const DESIGN_NAMES: Readonly<Record<DesignName, string>> = {
  hashed: 'keys hashed to workers',
  grouped: 'a queue per key group',
  spinning: 'locks, workers spin',
  returning: 'locks, put back',
  keyturn: 'Keyturn',
  coalescing: 'Keyturn, coalescing',
};

/** What has to fit to the work: set by its mean. */
export interface Fit {
  /** Mean of the work of messages that are not slow, ms. */
  readonly work: number;
  readonly seed: number;
}

/** Queues per worker. */
const GROUPS_PER_WORKER = 8;

/** In means of the work. */
const LOOKS = { first: 0.1, longest: 1 };
const SPIN = 10;
const RETURNS = { first: 0.5, longest: 16 };

export const MAKERS: Readonly<Record<DesignName, (stage: Stage, fit: Fit) => Design>> = {
  hashed: (stage) => new Hashed(stage),
  grouped: (stage) => new Grouped(stage, GROUPS_PER_WORKER * stage.workers),
  spinning: (stage, fit) => locked(stage, fit, SPIN),
  returning: (stage, fit) => locked(stage, fit, 0),
  keyturn: (stage) => new Keyturn(stage, 'unlimited'),
  coalescing: (stage) => new Keyturn(stage, 1),
};

function locked(stage: Stage, { work, seed }: Fit, spin: number): Locked {
  const looks = { firstLook: LOOKS.first * work, longestLook: LOOKS.longest * work, spin: spin * work };
  const returns = { firstReturn: RETURNS.first * work, longestReturn: RETURNS.longest * work };
  return new Locked(stage, { ...looks, ...returns }, seed);
}
