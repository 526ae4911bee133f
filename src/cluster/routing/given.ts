import type { Delivery } from '../../coordinator.js';
import type { Router } from './router.js';
import type { Source } from './target.js';

/** First: who hears of them may settle them at once. */
export function given(router: Router, { life }: Source, deliveries: readonly Delivery[]): void {
  for (const { turn } of deliveries) router.turns.given(turn, life);
}

export function notGiven(router: Router, deliveries: readonly Delivery[]): void {
  for (const { turn } of deliveries) router.turns.ended(turn.token);
}
