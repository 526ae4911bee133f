/** Making a scenario smaller may go on for long: after this it is small enough. */
const PATIENCE_MS = 20_000;

/**
 * Leaves out commands, many at once first, as long as the scenario fails without them. Commands name turns and calls
 * by counting back, so one that is left out changes what later ones mean; what matters is that it still fails.
 */
export async function smaller<Command>(
  commands: readonly Command[],
  fails: (commands: readonly Command[]) => Promise<boolean>,
): Promise<readonly Command[]> {
  const giveUp = performance.now() + PATIENCE_MS;
  let left = commands;
  for (let size = Math.ceil(left.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < left.length && performance.now() < giveUp; ) {
      const fewer = left.toSpliced(at, size);
      if (await fails(fewer)) left = fewer;
      else at += size;
    }
  }
  return left;
}
