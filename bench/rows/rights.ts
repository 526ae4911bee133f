import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { QUEUE } from '../coordinator.js';
import { streamPairs } from '../load/pairs.js';
import { type ServerProcess, startSidecar } from '../load/server-process.js';
import { SessionStream } from '../load/session-stream.js';
import { sayHello } from '../load/wire.js';
import { interleave, type Lap, withCpuTime } from '../rounds.js';
import type { Row } from '../row.js';

/** Short laps, many of them: the difference that is looked for is smaller than the weather. */
const PLAN = { rounds: 9, most: 21, within: 0.02, laps: 4 };
const PAIRS = 20_000;
const TOKEN = 'a-token-of-a-worker-of-the-benchmark-1234567890';
const WORKER = 'worker';
/** As a sidecar between tenants has them: the right that counts is not the first one. */
const RIGHTS = [
  { queues: ['orders', 'orders.*', 'invoices-*'], may: ['produce', 'consume'] },
  { queues: [QUEUE, `${QUEUE}.*`], may: ['produce', 'consume'] },
  { queues: ['*'], may: ['view'] },
];

export const rights: Row = {
  what: 'EnQueue+DeQueue pairs on one session: of a caller whose rights are judged, against a sidecar without `auth`',
  limit: 900,
  async run(say) {
    const directory = await mkdtemp(join(tmpdir(), 'keyturn-bench-'));
    const tokens = join(directory, 'tokens.yaml');
    const sha256 = createHash('sha256').update(TOKEN).digest('hex');
    await writeFile(tokens, JSON.stringify({ [WORKER]: { sha256 } }));
    const judged = await startSidecar({ auth: { tokens, rights: { [WORKER]: RIGHTS, others: RIGHTS } } });
    const open = await startSidecar();
    const [near, far] = [await openSession(judged, TOKEN), await openSession(open)];
    const rounds = await interleave(PLAN, say, perCpuSecond(judged, near), perCpuSecond(open, far));
    near.close();
    far.close();
    await Promise.all([judged.stop(), open.stop()]);
    await rm(directory, { recursive: true });
    return {
      figures: [
        {
          part: undefined,
          what: 'EnQueue+DeQueue pairs over loopback on one session, 256 in flight over 10,000 keys, by a token with three rights; by the CPU time of the sidecar; load: a bare stream of grpc-js, without promises',
          unit: 'pairs/CPU s',
          peer: 'the same at a sidecar without `auth`',
          better: 'higher',
          enough: 0.97,
          aim: 0.99,
          outcome: { is: 'measured', rounds: withCpuTime(rounds) },
        },
      ],
    };
  },
};

async function openSession(server: ServerProcess, token?: string): Promise<SessionStream> {
  const stream = new SessionStream(server.address, token);
  await sayHello(stream, 'worker-1');
  return stream;
}

/** Of the sidecar: other programs of the machine hardly change it, and the load is the same. */
function perCpuSecond(server: ServerProcess, stream: SessionStream): Lap {
  const lap = streamPairs(stream, PAIRS);
  return async () => {
    const before = await server.cpuSeconds();
    await lap();
    return PAIRS / ((await server.cpuSeconds()) - before);
  };
}
