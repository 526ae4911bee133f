const LARGEST_MARGIN_MS = 2_000;

/** How long before the end of a life its holder is told to stop. A margin above half a life would leave no time to work. */
export function marginOf(life: number, wanted: number | undefined): number {
  return wanted === undefined ? Math.min(life / 10, LARGEST_MARGIN_MS) : Math.min(wanted, life / 2);
}
