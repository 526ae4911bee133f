/** The table of docs/SECURITY.md, row by row, against a sidecar: without the verb nothing is reached, with it the call is carried out. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, describe, type TestContext, test } from 'node:test';
import { Client, credentials, Metadata, type MethodDefinition, type ServiceError } from '@grpc/grpc-js';
import { Authenticator } from '../../../src/access/authenticator.js';
import { type Right, VERBS, type Verb } from '../../../src/access/settings.js';
import { hashOf, Tokens } from '../../../src/access/tokens.js';
import type { Cluster } from '../../../src/coordinator.js';
import { DEFAULT_LIMITS } from '../../../src/core/contract/limits.js';
import * as admin from '../../../src/grpc/gen/keyturn/v1/admin.js';
import * as coordinator from '../../../src/grpc/gen/keyturn/v1/coordinator.js';
import * as leader from '../../../src/grpc/gen/keyturn/v1/leader.js';
import { startGrpcServer } from '../../../src/grpc/server/server.js';
import { localCoordinator } from '../../support/local-coordinator.js';
import { OWN_CONNECTION } from '../../support/sidecar.js';
import { decodeFailure, type Failure } from '../errors.js';

interface Row {
  readonly call: string;
  readonly verb: Verb | undefined;
  readonly on: string;
}

const ROWS: readonly Row[] = readFileSync('docs/SECURITY.md', 'utf8')
  .split('\n')
  .flatMap((line) => {
    const [, call, verb = '', on = ''] = /^\| `(\w+\/\w+)` \| (\S+) \| ([\w –]+) \|/.exec(line) ?? [];
    const word = verb.replaceAll('`', '');
    return call === undefined ? [] : [{ call, verb: VERBS.find((one) => one === word), on }];
  });

const SERVICES = {
  CoordinatorService: coordinator.CoordinatorServiceService,
  AdminService: admin.AdminServiceService,
  LeaderService: leader.LeaderServiceService,
};

type AnyMethod = MethodDefinition<object, object>;
// The generated definitions have a type for each method; here they are looked at one by one.
const METHODS: ReadonlyMap<string, AnyMethod> = new Map(
  Object.entries(SERVICES).flatMap(([service, methods]) =>
    Object.values(methods).map((method): [string, AnyMethod] => {
      const any = method as AnyMethod;
      return [`${service}/${any.path.split('/').at(-1)}`, any];
    }),
  ),
);

/** A request that is good for the queue (or group) `name`. */
const REQUESTS: Readonly<Record<string, (name: string) => Uint8Array>> = {
  'CoordinatorService/EnQueue': (queue) => bytes(coordinator.EnQueueRequest, { queue, key: 'k' }),
  'CoordinatorService/DeQueue': (queue) =>
    bytes(coordinator.DeQueueRequest, { queue, key: 'k', holder: { $case: 'token', value: 7n } }),
  'CoordinatorService/Submit': (queue) => bytes(coordinator.SubmitRequest, { queue, items: [item()] }),
  'CoordinatorService/Acquire': (queue) => bytes(coordinator.AcquireRequest, { queues: [queue] }),
  'CoordinatorService/Ack': (queue) => bytes(coordinator.AckRequest, { queue, key: 'k', token: 7n }),
  'CoordinatorService/Nack': (queue) => bytes(coordinator.NackRequest, { queue, key: 'k', token: 7n, kind: 1 }),
  'CoordinatorService/Renew': (queue) => bytes(coordinator.RenewRequest, { turns: [{ queue, key: 'k', token: 7n }] }),
  'CoordinatorService/Await': (queue) => bytes(coordinator.AwaitRequest, { queue, itemId: 'i' }),
  'LeaderService/GetLeader': (group) => bytes(leader.GetLeaderRequest, { group }),
  'LeaderService/WatchLeader': (group) => bytes(leader.WatchLeaderRequest, { group }),
  'LeaderService/YieldLeader': (group) => bytes(leader.YieldLeaderRequest, { group }),
  'AdminService/ListKeys': (queue) => bytes(admin.ListKeysRequest, { queue }),
  'AdminService/ExplainKey': (queue) => bytes(admin.ExplainKeyRequest, { queue, key: 'k' }),
  'AdminService/EvictHolder': (queue) => bytes(admin.EvictHolderRequest, { queue, key: 'k' }),
  'AdminService/GetItem': (queue) => bytes(admin.GetItemRequest, { queue, itemId: 'i' }),
  'AdminService/RetryNow': (queue) => bytes(admin.RetryNowRequest, { queue, key: 'k' }),
  'AdminService/ResumeKey': (queue) => bytes(admin.ResumeKeyRequest, { queue, key: 'k' }),
  'AdminService/PauseQueue': (queue) => bytes(admin.PauseQueueRequest, { queue }),
  'AdminService/ResumeQueue': (queue) => bytes(admin.ResumeQueueRequest, { queue }),
  'AdminService/SetLimits': (queue) => bytes(admin.SetLimitsRequest, { queue, maxInFlight: 3 }),
  'AdminService/ListDeadLetters': (queue) => bytes(admin.ListDeadLettersRequest, { queue }),
  'AdminService/Redrive': (queue) => bytes(admin.RedriveRequest, { queue }),
  'AdminService/Discard': (queue) => bytes(admin.DiscardRequest, { queue }),
  'AdminService/GetCluster': () => bytes(admin.GetClusterRequest, {}),
  'AdminService/MovePartition': () => bytes(admin.MovePartitionRequest, { partition: 0, member: 'm' }),
  'AdminService/RestorePartitions': () => bytes(admin.RestorePartitionsRequest, {}),
  'AdminService/FinalizeCluster': () => bytes(admin.FinalizeClusterRequest, {}),
  'AdminService/RouteQueue': (queue) => bytes(admin.RouteQueueRequest, { queue, group: 'g' }),
  'AdminService/WatchEvents': (queue) => bytes(admin.WatchEventsRequest, { queue }),
};

interface Encodes<T> {
  encode(message: T): { finish(): Uint8Array };
  decode(bytes: Uint8Array): T;
}

function bytes<T extends object>(type: Encodes<T>, fields: Partial<T>): Uint8Array {
  return type.encode({ ...type.decode(new Uint8Array(0)), ...fields }).finish();
}

function item(): coordinator.NewItem {
  return { ...coordinator.NewItem.decode(new Uint8Array(0)), key: 'k' };
}

/** Everything on `mine.*` but one verb, and that verb on what is not asked for. */
function allBut(verb: Verb): Right[] {
  const others = VERBS.filter((one) => one !== verb);
  const rights: Right[] = [
    { queues: ['mine.*', '*'], groups: ['mine.*'], may: others.filter((one) => one !== 'consume' || verb !== 'view') },
  ];
  return [...rights, { queues: ['theirs'], groups: ['theirs'], may: [verb] }];
}

const NO_CLUSTER: Cluster = { ask: () => Promise.resolve(NOTHING) };
const NOTHING = {
  ok: false,
  refusal: { kind: 'not_possible', because: 'not_movable', description: 'reached' },
} as const;

async function sidecar(t: TestContext): Promise<Client> {
  const names = new Map<string, readonly Right[]>(VERBS.map((verb) => [`all-but-${verb}`, allBut(verb)]));
  names.set('nothing', []);
  for (const verb of VERBS) names.set(`only-${verb}`, [{ queues: ['*'], groups: ['*'], may: [verb] }]);
  const settings = {
    tokens: 'unused',
    certificates: [],
    jwt: undefined,
    unix: undefined,
    rights: names,
    perClient: undefined,
  };
  const tokens = new Tokens(
    [...names.keys()].map((name) => ({ name, sha256: hashOf(`token-of-${name}`), until: undefined })),
  );
  const server = await startGrpcServer({
    listen: '127.0.0.1:0',
    coordinator: localCoordinator(t),
    cluster: NO_CLUSTER,
    limits: DEFAULT_LIMITS,
    observe: () => {},
    log: { info() {}, warn() {}, error: (fields) => assert.fail(JSON.stringify(fields)) },
    access: { authenticator: new Authenticator(settings, { tokens, jwt: undefined }), refused: () => {} },
  });
  t.after(() => server.forceStop());
  const client = new Client(server.address, credentials.createInsecure(), OWN_CONNECTION);
  t.after(() => client.close());
  return client;
}

/** What came of a call: unset: it was carried out. A stream is carried out when its first message or header comes. */
function ask(client: Client, call: string, name: string | undefined, queue: string): Promise<Failure | undefined> {
  const method = METHODS.get(call);
  const request = REQUESTS[call];
  assert.ok(method !== undefined && request !== undefined, call);
  const metadata = new Metadata();
  if (name !== undefined) metadata.set('authorization', `Bearer token-of-${name}`);
  const send = () => Buffer.from(request(queue));
  const options = { deadline: Date.now() + 30_000 };
  return new Promise((resolve) => {
    if (method.responseStream) {
      const stream = client.makeServerStreamRequest(method.path, send, asItIs, {}, metadata, options);
      stream.on('error', (error: ServiceError) => resolve(error.code === 1 ? undefined : decodeFailure(error)));
      stream.once('metadata', (headers: Metadata) => {
        if (Object.keys(headers.getMap()).length >= 0) setImmediate(() => stream.cancel());
      });
      stream.resume();
      return;
    }
    client.makeUnaryRequest(method.path, send, asItIs, {}, metadata, options, (error) =>
      resolve(error === null ? undefined : decodeFailure(error)),
    );
  });
}

function asItIs(received: Buffer): Buffer {
  return received;
}

/** Whatever it came to, it was let in and looked at. */
function wasReached(failure: Failure | undefined): boolean {
  return failure?.reason !== 'NOT_ALLOWED' && failure?.reason !== 'NO_CREDENTIALS';
}

describe('what each call needs', () => {
  test('the table has every call of every service, each once', () => {
    assert.deepEqual(ROWS.map(({ call }) => call).sort(), [...METHODS.keys()].sort());
  });

  const unary = ROWS.filter(({ call }) => REQUESTS[call] !== undefined);

  test('all but streams of commands, and lists of what may be seen, are asked here', () => {
    const left = ROWS.filter(({ call }) => REQUESTS[call] === undefined).map(({ call }) => call);
    const others = [
      'CoordinatorService/Session',
      'LeaderService/Lead',
      'AdminService/ListQueues',
      'AdminService/GetServer',
      'AdminService/ListSessions',
    ];
    assert.deepEqual([...left].sort(), [...others].sort());
  });

  let reached: (call: string, name: string | undefined, queue: string) => Promise<Failure | undefined>;
  before(() => {
    assert.ok(unary.length > 20);
  });

  test('without the verb it is refused, with it alone it is carried out', async (t) => {
    const client = await sidecar(t);
    reached = (call, name, queue) => ask(client, call, name, queue);
    for (const { call, verb, on } of unary) {
      await t.test(`${call}: ${verb} on ${on}`, async () => {
        assert.ok(verb !== undefined);
        const queue = 'mine.x';
        for (const name of [`all-but-${verb}`, 'nothing']) {
          const failure = await reached(call, name, queue);
          assert.equal(failure?.code, 'PERMISSION_DENIED', `${name}: ${failure?.message ?? 'carried out'}`);
          assert.equal(failure?.reason, 'NOT_ALLOWED');
          assert.equal(failure?.metadata['verb'], verb);
          const what = on === 'all queues' ? 'all queues ("*")' : `${on} ${queue}`;
          assert.equal(failure?.metadata['what'], what);
        }
        const failure = await reached(call, `only-${verb}`, queue);
        assert.ok(wasReached(failure), `${failure?.reason}: ${failure?.message}`);
        const nobody = await reached(call, undefined, queue);
        assert.equal(nobody?.reason, 'NO_CREDENTIALS');
        assert.equal(nobody?.code, 'UNAUTHENTICATED');
      });
    }
  });
});
