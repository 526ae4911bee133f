import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { credentials } from '@grpc/grpc-js';
import {
  CoordinatorServiceClient,
  CoordinatorServiceService,
  Decision,
  EnQueueRequest,
  EnQueueResponse,
} from '../../src/grpc/gen/keyturn/v1/coordinator.js';
import { type Dist, type Side, workOf } from '../against/side.js';
import { QUEUE } from '../coordinator.js';
import { H2LOAD, runH2load } from '../load/h2load.js';
import { isInstalled } from '../load/native-server.js';
import { type ServerProcess, startBareServer, startSidecar } from '../load/server-process.js';
import type { Figure, Round } from '../measure.js';
import { interleave } from '../rounds.js';
import type { Row, Say } from '../row.js';

const PLAN = { rounds: 9, most: 15, laps: 2 };
/** Calls of the lap that finds out how many a lap shall have. */
const TRIAL = 30_000;
const SECONDS_PER_LAP = 1;
const PREFIX_BYTES = 5;

const what =
  'EnQueue with wait zero as unary calls over loopback: h2load, 1 connection, 100 at once; the key is held, so each answer is BLOCK';

export const unary: Row = {
  what,
  limit: 900,
  side,
  async run(say) {
    const told = { part: undefined, what, unit: 'calls/s', better: 'higher', enough: 0.9, aim: 0.97 } as const;
    const peer = 'a grpc-js server whose handler does nothing, same codec, messages and load';
    return { figures: [{ ...told, peer, outcome: await outcomeOf(say) }] };
  },
};

async function side(dist: Dist): Promise<Side> {
  if (!(await isInstalled(H2LOAD, '--version'))) throw new Error(`missing: ${H2LOAD.needs} (${H2LOAD.install})`);
  const directory = await mkdtemp(join(tmpdir(), 'keyturn-bench-'));
  const bodyFile = join(directory, 'request');
  await writeFile(bodyFile, prefixed(EnQueueRequest.encode(requestOf(0)).finish()));
  const sidecar = await startSidecar({ dist });
  const bytes = PREFIX_BYTES + (await holdKey(sidecar)).length;
  return {
    parts: [
      {
        name: undefined,
        unit: 'calls',
        judgedBy: 'wall',
        lap: async () => workOf(TRIAL, await lap(sidecar, bodyFile, bytes, TRIAL)),
        cpuSeconds: sidecar.cpuSeconds,
      },
    ],
    async close() {
      await sidecar.stop();
      await rm(directory, { recursive: true });
    },
  };
}

async function outcomeOf(say: Say): Promise<Figure['outcome']> {
  if (!(await isInstalled(H2LOAD, '--version'))) return { is: 'missing', ...H2LOAD };
  const directory = await mkdtemp(join(tmpdir(), 'keyturn-bench-'));
  try {
    const bodyFile = join(directory, 'request');
    await writeFile(bodyFile, prefixed(EnQueueRequest.encode(requestOf(0)).finish()));
    return { is: 'measured', rounds: await measure(bodyFile, say) };
  } finally {
    await rm(directory, { recursive: true });
  }
}

async function measure(bodyFile: string, say: Say): Promise<Round[]> {
  const sidecar = await startSidecar();
  const answer = await holdKey(sidecar);
  const bare = await startBareServer(answer);
  const bytes = PREFIX_BYTES + answer.length;
  await mustAnswer(bare, answer);
  const trial = await lap(sidecar, bodyFile, bytes, TRIAL);
  const requests = Math.ceil(trial * SECONDS_PER_LAP);
  const rounds = await interleave(
    PLAN,
    say,
    () => lap(sidecar, bodyFile, bytes, requests),
    () => lap(bare, bodyFile, bytes, requests),
    { keyturn: sidecar.cpuSeconds, peer: bare.cpuSeconds, operations: requests },
  );
  await mustAnswer(sidecar, answer);
  await Promise.all([sidecar.stop(), bare.stop()]);
  return rounds;
}

/** @returns calls per second */
async function lap(server: ServerProcess, bodyFile: string, answerBytes: number, requests: number): Promise<number> {
  const { path } = CoordinatorServiceService.enQueue;
  const report = await runH2load({ address: server.address, path, bodyFile, requests });
  // A gRPC error is an HTTP 200 too, but without a message.
  if (report.succeeded !== requests || report.dataBytes !== requests * answerBytes) {
    throw new Error(`of ${requests} calls some were not answered as expected: ${JSON.stringify(report)}`);
  }
  return report.perSecond;
}

/** Takes the turn of the key, for longer than the row lasts. @returns what the next one gets: BLOCK */
async function holdKey(server: ServerProcess): Promise<Uint8Array> {
  const first = await ask(server, requestOf(3_600));
  if (first.decision !== Decision.DECISION_ACCEPT) throw new Error(`expected the turn, got ${JSON.stringify(first)}`);
  const second = await ask(server, requestOf(0));
  if (second.decision !== Decision.DECISION_BLOCK) throw new Error(`expected BLOCK, got ${JSON.stringify(second)}`);
  return EnQueueResponse.encode(second).finish();
}

async function mustAnswer(server: ServerProcess, answer: Uint8Array): Promise<void> {
  const given = EnQueueResponse.encode(await ask(server, requestOf(0))).finish();
  if (Buffer.compare(given, answer) !== 0) throw new Error('the two servers do not give the same answer');
}

/** @param lease seconds; 0: the queue's */
function requestOf(lease: number): EnQueueRequest {
  return {
    queue: QUEUE,
    key: 'customer-4711',
    consumerId: 'worker-1',
    ticket: '',
    wait: { seconds: 0n, nanos: 0 },
    lease: lease === 0 ? undefined : { seconds: BigInt(lease), nanos: 0 },
    idempotencyKey: '',
  };
}

/** One call. Rejects unless its status is OK. */
function ask(server: ServerProcess, request: EnQueueRequest): Promise<EnQueueResponse> {
  const client = new CoordinatorServiceClient(server.address, credentials.createInsecure());
  return new Promise<EnQueueResponse>((resolve, reject) => {
    client.enQueue(request, (error, response) => (error ? reject(error) : resolve(response)));
  }).finally(() => client.close());
}

/** gRPC's prefix of a message: not compressed, its length. */
function prefixed(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}
