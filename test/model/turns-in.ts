import type { TurnRef } from '../../src/coordinator.js';
import type { Outcome } from '../support/call.js';

/** All turns that an answer tells of. */
export function turnsIn(outcome: Outcome<unknown> | undefined): TurnRef[] {
  const found: TurnRef[] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return;
    if ('token' in value && 'queue' in value && 'key' in value) found.push(value as TurnRef); // its three fields
    for (const part of Object.values(value)) visit(part);
  };
  visit(outcome);
  return found;
}
