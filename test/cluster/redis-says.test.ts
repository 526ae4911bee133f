/** What Redis says, and what is made of it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { redisAddress } from '../../src/cluster/redis/address.js';
import { replyError } from '../../src/cluster/redis/failures.js';
import { checkServer } from '../../src/cluster/redis/server-check.js';
import type { JournalProblem } from '../../src/local/journal/journal.js';

const ADDRESS = redisAddress('redis://worker:geheim@redis.example:6380/2');

describe('an address', () => {
  const taken: readonly (readonly [string, object])[] = [
    ['redis://h', { host: 'h', port: 6_379, tls: false, username: undefined, password: undefined, database: 0 }],
    ['redis://h:1/', { host: 'h', port: 1, tls: false, username: undefined, password: undefined, database: 0 }],
    [
      'rediss://u:p%40%2F@[::1]:2/15',
      { host: '::1', port: 2, tls: true, username: 'u', password: 'p@/', database: 15 },
    ],
    [
      'redis://:p@10.0.0.1',
      { host: '10.0.0.1', port: 6_379, tls: false, username: undefined, password: 'p', database: 0 },
    ],
  ];
  for (const [url, parts] of taken) {
    it(`${url.replace(/:[^@/]*@/, ':…@')} is taken apart, its name without user and password`, () => {
      const { name, ...rest } = redisAddress(url);
      assert.deepEqual(rest, parts);
      assert.doesNotMatch(name, /@|p%40/);
    });
  }
});

describe('an answer that is an error', () => {
  const answers: readonly {
    readonly text: string;
    readonly problem: JournalProblem;
    readonly says: RegExp;
    readonly isOver: boolean;
  }[] = [
    {
      text: "OOM command not allowed when used memory > 'maxmemory'.",
      problem: 'full',
      says: /maxmemory/,
      isOver: false,
    },
    {
      text: 'MISCONF Errors writing to the AOF file: No space left',
      problem: 'full',
      says: /No space left/,
      isOver: false,
    },
    { text: "READONLY You can't write against a read only replica.", problem: 'io', says: /a replica/, isOver: true },
    { text: 'UNBLOCKED force unblock from blocking operation', problem: 'io', says: /a replica/, isOver: true },
    {
      text: 'NOREPLICAS Not enough good replicas to write.',
      problem: 'io',
      says: /min-replicas-to-write/,
      isOver: false,
    },
    { text: 'NOAUTH Authentication required.', problem: 'unfit', says: /wants a password/, isOver: true },
    {
      text: "NOPERM this user has no permissions to run the 'evalsha' command",
      problem: 'unfit',
      says: /worker .* may not run EVALSHA \(ACL SETUSER worker \+evalsha\)/,
      isOver: false,
    },
    { text: 'Socket closed unexpectedly', problem: 'io', says: /was lost/, isOver: true },
    { text: 'ERR something new', problem: 'io', says: /ERR something new/, isOver: false },
  ];
  for (const { text, problem, says, isOver } of answers) {
    it(`${text.slice(0, 40)} becomes ${problem}, with what to do and without the password`, () => {
      const failure = replyError(ADDRESS, new Error(text));
      assert.match(failure.error.message, says);
      assert.match(failure.error.message, /redis\.example:6380\/2/);
      assert.doesNotMatch(failure.error.message, /geheim/);
      assert.deepEqual([failure.error.problem, failure.isOver], [problem, isOver]);
    });
  }
});

describe('a server', () => {
  const GOOD = {
    redis_version: '7.0.15',
    role: 'master',
    maxmemory_policy: 'noeviction',
    run_id: 'a',
    master_replid: 'b',
  };
  const check = (info: Readonly<Record<string, string>>) =>
    checkServer(ADDRESS, { ask: async () => linesOf(info) }, 1_000);

  it('is known by its run and by what it replicates; its replicas are counted', async () => {
    assert.deepEqual(await check({ ...GOOD, connected_slaves: '2' }), { identity: 'a b', replicas: 2 });
    assert.deepEqual(await check({ ...GOOD, redis_version: '8.2.1' }), { identity: 'a b', replicas: 0 });
  });

  const bad: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
    [{ redis_version: '6.2.14' }, /is Redis 6\.2\.14; it has to be 7\.0 or newer/],
    [{ redis_version: '' }, /has to be 7\.0 or newer/],
    [{ role: 'slave', master_host: 'm', master_port: '1' }, /is a replica.*name its master, m:1/],
    [{ maxmemory_policy: 'volatile-ttl' }, /maxmemory-policy volatile-ttl.*CONFIG SET maxmemory-policy noeviction/],
    [{ loading: '1' }, /still reads its file/],
  ];
  for (const [difference, says] of bad) {
    it(`with ${JSON.stringify(difference)} is refused`, () => assert.rejects(check({ ...GOOD, ...difference }), says));
  }
});

function linesOf(info: Readonly<Record<string, string>>): string {
  const lines = Object.entries(info).map(([name, value]) => `${name}:${value}`);
  return ['# Server', ...lines, ''].join('\r\n');
}
