/** Settings of a Redis Cluster with which it can be used, and that are worth knowing. */
import type { RedisLink } from '../connection.js';

/** Until another master is chosen nothing is written for at least so long, ms. */
const BEST_NODE_TIMEOUT = 3_000;

/** For people; unset: there is nothing to say, or its user may not look. */
export async function cautionOf(link: RedisLink, name: string): Promise<string | undefined> {
  const asked = ['CONFIG', 'GET', 'cluster-node-timeout', 'cluster-require-full-coverage'];
  const answer = await link.ask(asked).catch(() => undefined);
  const flat: readonly unknown[] = Array.isArray(answer) ? answer : [];
  const said = (setting: string): string => String(flat[flat.indexOf(setting) + 1] ?? '');
  const timeout = flat.length === 0 ? 0 : Number(said('cluster-node-timeout'));
  const cautions: string[] = [];
  if (timeout > BEST_NODE_TIMEOUT)
    cautions.push(
      `cluster-node-timeout is ${timeout} ms: for so long at least the partitions of a master that dies take nothing (${BEST_NODE_TIMEOUT} is better)`,
    );
  if (flat.length > 0 && said('cluster-require-full-coverage') === 'yes')
    cautions.push(
      'cluster-require-full-coverage is yes: a master that is gone without a replica stops all partitions, not only its own',
    );
  return cautions.length === 0 ? undefined : `${name}: ${cautions.join('; ')}`;
}
