/** As many pairs of calls as fit into a time. */
import { randomUUID } from 'node:crypto';
import type { Keyturn } from '@keyturn/client';
import { type Fields, number, text } from './fields.js';

/** EnQueue and DeQueue, each key used by one of those in flight at a time. */
export async function pairs(client: Keyturn, request: Fields): Promise<Fields> {
  const queue = text(request, 'queue');
  return counted(request, async (key) => {
    const answer = await client.enQueue({ queue, key, wait: 10_000 });
    if (answer.decision !== 'accept') return false;
    await client.deQueue({ queue, key, token: answer.turn.token });
    return true;
  });
}

const UNLOCK = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

/** A lock of Redis, as its documentation shows it. */
export async function redisPairs(request: Fields): Promise<Fields> {
  const { Redis } = await import('ioredis');
  const redis = new Redis(`redis://${text(request, 'address')}`);
  try {
    return await counted(request, async (key) => {
      const token = randomUUID();
      if ((await redis.set(key, token, 'PX', 20_000, 'NX')) !== 'OK') return false;
      await redis.eval(UNLOCK, 1, key, token);
      return true;
    });
  } finally {
    redis.disconnect();
  }
}

async function counted(request: Fields, pair: (key: string) => Promise<boolean>): Promise<Fields> {
  const keys = number(request, 'keys');
  const inFlight = number(request, 'in_flight');
  const until = performance.now() + number(request, 'seconds') * 1_000;
  let done = 0;
  const run = async (first: number): Promise<void> => {
    for (let n = first; performance.now() < until; n += inFlight) if (await pair(`key-${n % keys}`)) done += 1;
  };
  await Promise.all(Array.from({ length: inFlight }, (_, n) => run(n)));
  return { pairs: done };
}
