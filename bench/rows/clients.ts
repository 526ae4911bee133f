import { LANGUAGES } from '../../clients/conformance/languages.js';
import { HOST } from '../load/native-server.js';
import { LoadPlayer, NotThere } from '../load/player.js';
import { startSidecar } from '../load/server-process.js';
import type { Figure, Outcome } from '../measure.js';
import { hasRedis, REDIS, startRedis } from '../peers/redis.js';
import { interleave } from '../rounds.js';
import type { Row, Say } from '../row.js';

/** A lap lasts as long as the compilers of some languages need to warm up. */
const PLAN = { rounds: 7, laps: 1 };
const PAIRS = { keys: 10_000, inFlight: 256, seconds: 1.5 };

/** The usual client of Redis in each language, as its player uses it. */
const REDIS_CLIENTS: Readonly<Record<string, string>> = {
  typescript: 'ioredis',
  python: 'redis-py, asyncio',
  go: 'go-redis',
  java: 'Lettuce',
};

export const clients: Row = {
  what: 'EnQueue+DeQueue pairs on one session by the client of each language, against Redis as a lock by its usual client',
  limit: 900,
  async run(say) {
    const sidecar = await startSidecar();
    const figures: Figure[] = [];
    for (const language of LANGUAGES) {
      const says: Say = (progress) => say(`${language}, ${progress}`);
      figures.push(figureOf(language, await measure(language, sidecar.address, says)));
    }
    await sidecar.stop();
    return { figures };
  },
};

function figureOf(language: string, outcome: Outcome): Figure {
  return {
    part: language,
    what: `EnQueue+DeQueue pairs over loopback on one session, one process, 256 in flight over 10,000 keys; load: the client of ${language}`,
    unit: 'pairs/s',
    peer: `Redis: SET NX PX, and compare-and-delete by a script; load: ${REDIS_CLIENTS[language] ?? 'its usual client'}, same in flight`,
    better: 'higher',
    // What a language can do is its own: there is nothing to reach.
    enough: undefined,
    aim: undefined,
    outcome,
  };
}

/** One player at a time: others that only wait would still take from it. */
async function measure(language: string, address: string, say: Say): Promise<Outcome> {
  if (!(await hasRedis())) return { is: 'missing', ...REDIS };
  const redis = await startRedis();
  let player: LoadPlayer | undefined;
  try {
    player = await LoadPlayer.start(language, address);
    const load = player;
    const rounds = await interleave(
      PLAN,
      say,
      () => load.pairs(`bench-${language}`, PAIRS),
      () => load.redisPairs(`${HOST}:${redis.port}`, PAIRS),
    );
    return { is: 'measured', rounds };
  } catch (error) {
    if (!(error instanceof NotThere)) throw error;
    return { is: 'missing', ...error.program };
  } finally {
    await player?.stop();
    await redis.stop();
  }
}
