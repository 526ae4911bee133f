/** Far beyond what anything takes on a slow machine. */
const LONGEST_MS = 30_000;

/** Looks again and again until something holds that shows itself by no event, as what happens behind a socket. */
export async function until(holds: () => boolean): Promise<void> {
  const giveUpAt = Date.now() + LONGEST_MS;
  while (!holds()) {
    if (Date.now() > giveUpAt) throw new Error(`this did not come to hold: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
