import type { HandOverReason, Predecessor } from '../words/leader-words.js';
import {
  functionNeeded,
  numberWithin,
  optionsNeeded,
  textNeeded,
  textsNeeded,
  wordWithin,
  wrongSetting,
} from '../words/option-checks.js';
import type { Bytes } from '../words/worker-words.js';

/** What a worker does in each phase of its career. */
export interface LeaderCareer {
  /** Told whenever the place among those who wait is another one, from 1. */
  standing?: (position: number) => void;
  /** Prepare: load the state, take over offsets. Nobody else leads, and this one does not work yet. */
  inaugurate?: (term: number, predecessor: Predecessor, signal: AbortSignal) => void | Promise<void>;
  /**
   * Work, until `signal` aborts: with a {@link HandOverAsked} finish what is in hand, with a {@link TermLostError} stop at once.
   * To return is to yield; to throw too, and then it is asked again after a back-off only.
   */
  execute(term: number, signal: AbortSignal, work: LeaderWork): void | Promise<void>;
  /**
   * After `execute` has ended, if the term is not lost. @returns what the successor is given, up to 64 KiB
   *
   * @param deadline ms that are left
   * @param lost aborts when the term is lost meanwhile: stop at once
   */
  handOver?: (reason: HandOverReason, deadline: number, lost: AbortSignal) => Left | Promise<Left>;
}

/** What a hand-over leaves. */
export type Left = Bytes | string | undefined;

const MOST_STATE = 65_536;

/** @throws KeyturnError: a state that the sidecar would refuse ends no term */
export function stateOf(left: Left): Bytes {
  const state = typeof left === 'string' ? Buffer.from(left) : (left ?? new Uint8Array(0));
  if (!(state instanceof Uint8Array)) throw wrongSetting('state: needed are bytes, a text, or nothing');
  if (state.length <= MOST_STATE) return state;
  throw wrongSetting(`state: ${state.length} bytes are not allowed; allowed are up to ${MOST_STATE}`);
}

/** What the worker has besides while it executes. */
export interface LeaderWork {
  /** With `progress: 'manual'` to be called at every step of the work: else the term is lost after the `ttl`. */
  progress(): void;
  /** Aborts when the term is lost, also after the worker was asked to hand over. */
  readonly lost: AbortSignal;
}

export interface LeadOptions {
  /** One id for one life of one worker. Unset: host, process and something random. */
  readonly candidateId?: string | undefined;
  /** How long a term lives without a sign of life, ms, 500 to 1 h. Unset: 5 s. */
  readonly ttl?: number | undefined;
  /** How long before that the worker is told that the term is lost, ms. Unset: a tenth, at most 2 s; never above eight tenths. */
  readonly margin?: number | undefined;
  /** ms, 100 to 24 h. Unset: 30 s. */
  readonly inaugurateTimeout?: number | undefined;
  /** ms, 100 to 24 h. Unset: 10 s. */
  readonly handOverTimeout?: number | undefined;
  /** For people who ask who leads. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** `timer`: that the event loop turns is the sign of life. `manual`: `execute` gives it. Unset: timer. */
  readonly progress?: 'timer' | 'manual' | undefined;
  /** Do not stand again after the first term. */
  readonly once?: boolean | undefined;
}

const OPTIONS: Readonly<Record<keyof LeadOptions, true>> = {
  candidateId: true,
  ttl: true,
  margin: true,
  inaugurateTimeout: true,
  handOverTimeout: true,
  metadata: true,
  progress: true,
  once: true,
};

const DAY = 86_400_000;
const HOUR = 3_600_000;

/** All that is unset has its default. */
export type LeadSettings = Required<{
  [K in Exclude<keyof LeadOptions, 'margin' | 'metadata'>]: NonNullable<LeadOptions[K]>;
}> & {
  readonly margin: number | undefined;
  readonly metadata: ReadonlyMap<string, string>;
};

/** @throws KeyturnError (INVALID_ARGUMENT) that names what is wrong */
export function leadSettings(
  group: string,
  career: LeaderCareer,
  options: LeadOptions,
  newId: () => string,
): LeadSettings {
  textNeeded('group', group);
  if (typeof career !== 'object' || career === null) throw wrongSetting('career: needed is an object with "execute"');
  functionNeeded('execute', career.execute);
  if (career.standing !== undefined) functionNeeded('standing', career.standing);
  if (career.inaugurate !== undefined) functionNeeded('inaugurate', career.inaugurate);
  if (career.handOver !== undefined) functionNeeded('handOver', career.handOver);
  optionsNeeded('the options of lead', options, OPTIONS);
  wordWithin('progress', options.progress, ['timer', 'manual']);
  const { margin, metadata = {} } = options;
  return {
    candidateId: textNeeded('candidateId', options.candidateId ?? newId()),
    ttl: numberWithin('ttl', options.ttl ?? 5_000, 500, HOUR),
    margin: margin === undefined ? undefined : numberWithin('margin', margin, 0, HOUR),
    inaugurateTimeout: numberWithin('inaugurateTimeout', options.inaugurateTimeout ?? 30_000, 100, DAY),
    handOverTimeout: numberWithin('handOverTimeout', options.handOverTimeout ?? 10_000, 100, DAY),
    metadata: textsNeeded('metadata', metadata),
    progress: options.progress ?? 'timer',
    once: options.once ?? false,
  };
}
