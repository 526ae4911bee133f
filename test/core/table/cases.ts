/** How the cells of the table are written. */
import type { LaneState } from '../../../src/coordinator.js';
import type { LaneEvent } from './lane-table.js';
import type { EntryName, Given } from './scene.js';

export interface Case {
  readonly given: Given;
  readonly to: LaneState;
  /** Who was told what, in any order; nobody else was told anything. */
  readonly told: readonly string[];
  /** The line afterwards, head first. */
  readonly line: readonly string[];
  /** Nothing at all may have changed: everything that can be known of the key is as before. */
  readonly unchanged: boolean;
}

export type Row = Readonly<Record<LaneEvent, readonly Case[]>>;

type Holder = NonNullable<Given['holder']>;
type Queue = NonNullable<Given['queue']>;

/** `line`: names, head first. */
export function to(state: LaneState, given: Given, line: string, ...told: string[]): Case {
  return { given, to: state, told, line: words(line), unchanged: false };
}

export function stays(state: LaneState, given: Given, ...told: string[]): Case {
  return { given, to: state, told, line: given.line ?? [], unchanged: true };
}

function words(text: string): string[] {
  return text === '' ? [] : text.split(' ');
}

export function held(holder: Holder, queue: Queue = 'plain'): Given {
  return { holder, queue };
}

export function heldWith(holder: Holder, line: EntryName, queue: Queue = 'plain'): Given {
  return { holder, line: [line], queue };
}

export function waits(line: EntryName, queue: Queue = 'plain'): Given {
  return { line: [line], queue };
}

export function two(first: EntryName, second: EntryName): Given {
  return { line: [first, second], queue: 'strict' };
}

export const NONE: Given = {};
export const PACED: Given = { queue: 'paced' };
const STALE = 'settler TURN_LOST evicted';
export const NEW_START: Given = { startupHold: true };

/** A token that is not live: refused, whatever is asked, and nothing changes. */
export function stale(state: LaneState, given: Given) {
  return {
    settle_done: [stays(state, given, STALE)],
    settle_retry: [stays(state, given, STALE)],
    settle_release: [stays(state, given, STALE)],
    settle_dead_letter: [stays(state, given, STALE)],
    renew: [stays(state, given, 'renewer LOST evicted')],
  };
}
