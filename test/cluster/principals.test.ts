/**
 * Who asks, in a cluster of real members: rights are judged by the member that a person asks, and the home of what is asked
 * tells in its audit who it was. Whoever reaches the port of links, and does not know the secret, can be nobody.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client, credentials } from '@grpc/grpc-js';
import { type ClusterMember, connect, type Keyturn, KeyturnError } from '@keyturn/client';
import { EndReason, Lane, LinkRequest, LinkResponse } from '../../src/grpc/gen/keyturn/peer/v1/peer.js';
import { type LogLine, ServeProcess } from '../cli/serve-process.js';
import { yamlFile } from '../config/yaml-file.js';
import { needs } from '../support/needed-program.js';
import { type Cleanup, REDIS, TestRedis } from '../support/redis.js';

const TOKENS = { ops: 'the-token-of-ops', ada: 'the-token-of-ada' };
const RIGHTS =
  "{ ops: [{ queues: ['*'], groups: ['*'], may: [view, operate, produce] }], ada: [{ queues: [mine], may: [view] }] }";

interface Pair {
  /** Has no partition: it asks the home for everything. */
  readonly gateway: ServeProcess;
  readonly home: ServeProcess;
  readonly homeMember: ClusterMember;
  client(token: keyof typeof TOKENS): Promise<Keyturn>;
}

/** One pair for the tests of a suite; to be called within it. */
function sharedPair(): () => Pair {
  const cleanup: (() => unknown)[] = [];
  let started: Pair | undefined;
  before(async () => {
    started = await pair({ after: (task) => void cleanup.unshift(task) });
  });
  after(async () => {
    for (const task of cleanup) await task();
  });
  return () => {
    ok(started);
    return started;
  };
}

/** The home itself lets nobody do anything: who asks the gateway is nobody to it. */
async function pair(t: Cleanup): Promise<Pair> {
  const redis = await TestRedis.start(t);
  const member = (access: string, ...more: string[]) => {
    const tokens = join(dirname(yamlFile(t, '')), 'tokens.yaml');
    const lines = Object.entries(TOKENS).map(
      ([name, token]) => `${name}: { sha256: ${createHash('sha256').update(token).digest('hex')} }`,
    );
    writeFileSync(tokens, lines.join('\n'));
    const settings = `auth: { tokens: ${tokens}, ${access} }\naudit: stderr\n`;
    return ServeProcess.start(t, ['--store', redis.url, '--config', yamlFile(t, settings), ...more]);
  };
  const bounds = 'per_client: { memory_bytes: 10000 }';
  const home = await member(`rights: {}, ${bounds}`, '--cluster-peer-listen', '127.0.0.1:0');
  const gateway = await member(`rights: ${RIGHTS}`, '--cluster-weight', '0');
  const client = async (token: keyof typeof TOKENS) => {
    const made = connect(await gateway.address('grpc'), { transport: 'unary', token: TOKENS[token] });
    t.after(() => made.close({ timeout: 0 }));
    return made;
  };
  const { members } = await (await client('ops')).admin.getCluster();
  const homeMember = members.find(({ weight }) => weight > 0);
  if (homeMember === undefined) throw new Error('there is no home');
  return { gateway, home, homeMember, client };
}

/** What stands in the audit when the process has ended. */
async function auditOf(sidecar: ServeProcess): Promise<readonly LogLine[]> {
  sidecar.signal('SIGTERM');
  await sidecar.exited;
  return sidecar.lines.filter(({ audit }) => audit !== undefined);
}

/** The queue or the group that it was about. */
function whatOf(asked: unknown): unknown {
  const { queue, group } = { queue: undefined, group: undefined, ...Object(asked) };
  return queue ?? group;
}

/** Sends this to the port of links, as whoever reaches it may. @returns all that was said to it */
async function knock(address: string, ...said: readonly Partial<LinkRequest>[]): Promise<readonly LinkResponse[]> {
  const client = new Client(address, credentials.createInsecure());
  const heard: LinkResponse[] = [];
  const stream = client.makeBidiStreamRequest<LinkRequest, LinkResponse>(
    '/keyturn.peer.v1.PeerService/Link',
    (message) => Buffer.from(LinkRequest.encode(message).finish()),
    (bytes) => LinkResponse.decode(bytes),
  );
  const ended = new Promise<void>((resolve) => {
    stream.on('end', resolve);
    stream.on('error', () => resolve());
  });
  stream.on('data', (message: LinkResponse) => heard.push(message));
  for (const one of said) stream.write({ ...LinkRequest.decode(new Uint8Array(0)), ...one });
  await ended;
  client.close();
  return heard;
}

describe('members of a cluster with rights', needs([REDIS]), () => {
  const shared = sharedPair();

  it('who reaches the port of links and does not know the secret can be nobody', async () => {
    const { homeMember, client } = shared();
    const ops = await client('ops');
    await ops.submit('bills', { key: 'k', itemId: 'i' });
    const open = {
      oldest: 1,
      newest: 1,
      program: '0.1.0',
      home: homeMember.id,
      gateway: randomUUID(),
      link: randomBytes(16),
      lane: Lane.LANE_SMALL,
      nonce: randomBytes(32),
      received: 0n,
      before: undefined,
      resumes: false,
    };
    const request = Buffer.from(JSON.stringify({ call: 'pauseQueue', request: 'bills' }));
    const adminCalls = Array.from({ length: 64 }, (_, at) => ({
      id: at + 1,
      partition: at,
      request,
      principal: 'ops',
    }));
    const forged = { number: 1n, adminCalls };
    const tries: readonly (readonly [what: string, said: readonly Partial<LinkRequest>[], reason: EndReason])[] = [
      [
        'a proof that is guessed',
        [{ open }, { proof: { proof: randomBytes(32) } }, forged],
        EndReason.END_REASON_WRONG_SECRET,
      ],
      ['no proof', [{ open }, forged], EndReason.END_REASON_MALFORMED],
      ['no handshake', [forged], EndReason.END_REASON_MALFORMED],
    ];
    for (const [what, said, reason] of tries) {
      const heard = await knock(homeMember.peer, ...said);
      equal(heard.at(-1)?.end?.reason, reason, what);
      ok(
        heard.every(({ ready, adminAnswers }) => ready === undefined && adminAnswers.length === 0),
        what,
      );
    }
    const [queue] = (await ops.admin.listQueues()).queues;
    deepEqual([queue?.name, queue?.paused], ['bills', false]);
    // That nobody was anybody stands in the whole audit of the home, which the next test reads.
  });

  it('S663: the home bounds what a principal holds there, by its own settings, also for calls to another member', async () => {
    const { client } = shared();
    const ops = await client('ops');
    const submit = (itemId: string, size: number) =>
      ops.submit('held', { key: itemId, itemId, payload: new Uint8Array(size) });
    equal((await submit('large', 8_000)).decision, 'accept');
    const refused = await submit('more', 3_000).catch((error: unknown) => error);
    ok(refused instanceof KeyturnError, String(refused));
    deepEqual([refused.code, refused.reason], ['RESOURCE_EXHAUSTED', 'MEMORY_FULL']);
    match(refused.message, /ops may hold 10000 bytes \(auth\.per_client\.memory_bytes\)/);
    equal((await submit('small', 100)).decision, 'accept');
  });

  it('the audit of the home names the person, whom the member has let in that was asked, and nobody else', async () => {
    const { gateway, home, client } = shared();
    const ops = await client('ops');
    const ada = await client('ada');
    await ops.submit('orders', { key: 'k', itemId: 'i' });
    await ops.admin.pauseQueue('orders');
    await ops.admin.setLimits('orders', { rate: undefined, maxInFlight: 3 });
    // Looks change nothing.
    await ops.admin.setLimits('orders', { rate: undefined, maxInFlight: undefined });
    await ops.admin.explainKey('orders', 'k');
    equal(await ops.admin.discard({ queue: 'orders', itemIds: ['i'] }, true), 1);
    await ops.admin.yieldLeader('backup');
    const refused = await ada.admin.resumeQueue('orders').catch((error: unknown) => error);
    equal(refused instanceof KeyturnError && refused.reason, 'NOT_ALLOWED');

    const atGateway = await auditOf(gateway);
    const atHome = await auditOf(home);
    const done = [
      ['AdminService/PauseQueue', 'orders'],
      ['AdminService/SetLimits', 'orders'],
      ['AdminService/Discard', 'orders'],
      ['LeaderService/YieldLeader', 'backup'],
    ] as const;
    deepEqual(
      atHome.map(({ who, over, call, outcome, asked }) => ({ who, over, call, outcome, on: whatOf(asked) })),
      done.map(([call, on]) => ({ who: 'ops', over: 'link', call, outcome: 'OK', on })),
    );
    deepEqual(
      atGateway.map(({ who, over, call, outcome }) => ({ who, over, call, outcome })),
      [
        ...done.map(([call]) => ({ who: 'ops', over: undefined, call, outcome: 'OK' })),
        // What is not allowed never reaches the home.
        { who: 'ada', over: undefined, call: 'AdminService/ResumeQueue', outcome: 'PERMISSION_DENIED' },
      ],
    );
    for (const { from } of atHome) match(String(from), /^127\.0\.0\.1:\d+$/);
    deepEqual(atHome.find(({ call }) => call === 'AdminService/Discard')?.['told'], { items: 1 });
  });
});
