/**
 * S541: what each setting of a store can lose is what the table of docs/ENGINES.md says: nothing where it says nothing, and where it says
 * that something can be lost it is. Real engines, killed and lost with what they had; of two homes one lives and one dies with them.
 */
import assert from 'node:assert/strict';
import { env } from 'node:process';
import { describe, it } from 'node:test';
import { read } from '../../project/repository.js';
import { type NeededProgram, needs } from '../../support/needed-program.js';
import { POSTGRES } from '../../support/postgres.js';
import { REDIS, VALKEY } from '../../support/redis.js';
import { Home, lossOf } from './homes.js';
import { SCENES } from './scenes.js';
import { type Event, ROWS, type Row, type Setting, WORDS } from './table.js';

/** Written before something begins to lag, and after. */
const BEFORE = 8;
const AFTER = 4;

/** A server that stood alone and is gone is the same whatever it kept: `always` shows that for all of Redis. */
const NEVER_SEEN_TO_BE_GONE: ReadonlySet<string> = new Set(['everysec', 'power', 'snapshots', 'memory']);

const SHOWN: readonly (readonly [NeededProgram, Setting, Event])[] = [
  [REDIS, 'always', 'back'],
  [REDIS, 'always', 'gone'],
  [REDIS, 'everysec', 'back'],
  [REDIS, 'power', 'back'],
  [REDIS, 'snapshots', 'back'],
  [REDIS, 'memory', 'back'],
  [REDIS, 'waited', 'back'],
  [REDIS, 'waited', 'gone'],
  [REDIS, 'unwaited', 'gone'],
  [VALKEY, 'always', 'back'],
  [VALKEY, 'waited', 'gone'],
  [VALKEY, 'unwaited', 'gone'],
  [REDIS, 'sentinels', 'gone'],
  [REDIS, 'sentinelsUnwaited', 'gone'],
  [REDIS, 'redisCluster', 'gone'],
  [REDIS, 'redisClusterUnwaited', 'gone'],
  [POSTGRES, 'postgres', 'back'],
  [POSTGRES, 'postgres', 'gone'],
  [POSTGRES, 'asynchronous', 'gone'],
  [POSTGRES, 'notAsked', 'gone'],
  [POSTGRES, 'synchronous', 'gone'],
];

/** What shows the rest of the table in the same manner, and takes long: with `KEYTURN_LOSSES=all`. */
const BY_HAND: typeof SHOWN = [
  [REDIS, 'unwaited', 'back'],
  [REDIS, 'sentinels', 'back'],
  [REDIS, 'sentinelsUnwaited', 'back'],
  [REDIS, 'redisCluster', 'back'],
  [REDIS, 'redisClusterUnwaited', 'back'],
  [POSTGRES, 'asynchronous', 'back'],
  [POSTGRES, 'synchronous', 'back'],
];

// They wait for failovers and deadlines most of the time.
describe('S541: what can be lost', { concurrency: 3 }, () => {
  for (const [program, setting, event] of env['KEYTURN_LOSSES'] === 'all' ? [...SHOWN, ...BY_HAND] : SHOWN)
    it(`${setting} (${program.name}), ${event}`, needs([program]), async (t) => {
      const scene = await SCENES[setting](t, program);
      const [one, other] = scene.partitions ?? [0, 1];
      const [lives, dies] = [await Home.open(t, scene, one), await Home.open(t, scene, other)];
      for (const home of [lives, dies]) await home.write(BEFORE);
      await scene.lag();
      // What is lost has to be answered first; where nothing is to be lost it may be that nothing is answered any more.
      const isLossy = ROWS[setting].losses[event].homeGone === 'last';
      for (const home of [lives, dies]) await (isLossy ? home.write(AFTER) : home.writeOnce());
      await dies.die();
      await scene[event]();
      const homeGone = await lossOf(t, scene, dies);
      const how = await lives.goOn();
      const home = await lossOf(t, scene, lives);
      const found = { home: how === 'restored' && home === 'nothing' ? 'restored' : home, homeGone };
      assert.deepEqual(found, ROWS[setting].losses[event]);
    });
});

describe('the table of docs/ENGINES.md', () => {
  const page = read('docs/ENGINES.md').text;

  it('says what is shown', () => {
    for (const row of Object.values(ROWS))
      assert.ok(page.includes(lineOf(row)), `docs/ENGINES.md has no line ${lineOf(row)}`);
  });

  it('has no cell that is not shown', () => {
    const shown = new Set<string>([...SHOWN, ...BY_HAND].map(([, setting, event]) => `${setting} ${event}`));
    for (const setting of Object.keys(ROWS)) {
      if (!NEVER_SEEN_TO_BE_GONE.has(setting)) assert.ok(shown.has(`${setting} gone`), `${setting} gone`);
      // It differs from `asynchronous` in what commits of sidecars wait for, and in that alone.
      if (setting !== 'notAsked') assert.ok(shown.has(`${setting} back`), `${setting} back`);
    }
  });
});

function lineOf(row: Row): string {
  const { back, gone } = row.losses;
  const cells = [back.home, back.homeGone, gone.home, gone.homeGone].map((loss) =>
    loss === 'last' ? row.last : WORDS[loss],
  );
  return `| ${[row.setting, ...cells].join(' | ')} |`;
}
