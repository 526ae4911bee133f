import { HandOverStep as Wire } from '../gen/keyturn/peer/v1/peer.js';

/** How far a hand-over is. `done`: the partition is free. Before that the next home is told to `read` its rows, and says that it `has_read` them. */
export type HandOverStep = 'done' | 'read' | 'has_read';

const NUMBERS: Readonly<Record<HandOverStep, number>> = {
  done: Wire.HAND_OVER_STEP_UNSPECIFIED,
  read: Wire.HAND_OVER_STEP_READ,
  has_read: Wire.HAND_OVER_STEP_HAS_READ,
};

export function numberOf(step: HandOverStep): number {
  return NUMBERS[step];
}

/** @returns undefined: of a later version; nothing rests on it */
export function stepOf(number: number): HandOverStep | undefined {
  const steps: readonly HandOverStep[] = ['done', 'read', 'has_read'];
  return steps.find((step) => NUMBERS[step] === number);
}
