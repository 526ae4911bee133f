import type { Scenario } from './commands.js';

/** Making a scenario smaller may go on for long: after this it is small enough. */
const PATIENCE_MS = 20_000;

/**
 * Leaves out commands, many at once first, as long as the scenario fails without them. Commands name turns and calls
 * by counting back, so one that is left out changes what later ones mean; what matters is that it still fails.
 */
export async function smaller(scenario: Scenario, fails: (scenario: Scenario) => Promise<boolean>): Promise<Scenario> {
  const giveUp = performance.now() + PATIENCE_MS;
  let { commands } = scenario;
  for (let size = Math.ceil(commands.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < commands.length && performance.now() < giveUp; ) {
      const fewer = commands.toSpliced(at, size);
      if (await fails({ ...scenario, commands: fewer })) commands = fewer;
      else at += size;
    }
  }
  return { ...scenario, commands };
}
