/** Whether the user of a connection may run what is needed: asked before it is needed, harmlessly. */
import { JournalError } from '../../local/journal/journal.js';
import type { RedisLink } from './connection.js';

/** Commands on a key of a probe, by their names. */
const PROBES: Readonly<Record<string, (key: string) => readonly string[]>> = {
  EVALSHA: (key) => ['EVALSHA', '0'.repeat(40), '1', key],
  EVAL: (key) => ['EVAL', 'return 1', '1', key],
  HSET: (key) => ['HSET', key, 'probe', '1'],
  HINCRBY: (key) => ['HINCRBY', key, 'rows', '1'],
  HGET: (key) => ['HGET', key, 'probe'],
  HMGET: (key) => ['HMGET', key, 'probe'],
  HGETALL: (key) => ['HGETALL', key],
  HKEYS: (key) => ['HKEYS', key],
  HLEN: (key) => ['HLEN', key],
  HDEL: (key) => ['HDEL', key, 'probe'],
  EXISTS: (key) => ['EXISTS', key],
  UNLINK: (key) => ['UNLINK', key],
  EXPIRE: (key) => ['EXPIRE', `${key}:text`, '60'],
  SADD: (key) => ['SADD', `${key}:set`, 'probe'],
  SMEMBERS: (key) => ['SMEMBERS', `${key}:set`],
  SREM: (key) => ['SREM', `${key}:set`, 'probe'],
  SET: (key) => ['SET', `${key}:text`, 'probe', 'PX', '1'],
  GET: (key) => ['GET', `${key}:text`],
  TIME: () => ['TIME'],
  WAIT: () => ['WAIT', '0', '1'],
};

export type Right = keyof typeof PROBES;

/** @throws JournalError `unfit`, which names the first command that is not allowed */
export async function checkRights(
  connection: RedisLink,
  commands: readonly Right[],
  key: string,
  deadline: number,
): Promise<void> {
  const asked = commands.map((command) => connection.ask(PROBES[command]?.(key) ?? ['PING'], deadline));
  for (const answer of await Promise.allSettled(asked)) {
    if (answer.status === 'fulfilled') continue;
    const { reason } = answer;
    // That it has no such script, or no room, is no question of rights.
    if (reason instanceof JournalError && reason.problem === 'unfit') throw reason;
    if (reason instanceof JournalError && !connection.isOpen) throw reason;
  }
}
