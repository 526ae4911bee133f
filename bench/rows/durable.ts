import { type Dist, type Side, workOf } from '../against/side.js';
import { type DataDirectory, makeDataDirectory } from '../load/data-directory.js';
import { openWhenReady } from '../load/ready-session.js';
import { startSidecar } from '../load/server-process.js';
import { SingleItems } from '../load/single-items.js';
import { startLmdb } from '../peers/lmdb.js';
import { interleave } from '../rounds.js';
import type { Row, Say } from '../row.js';

/** Short laps, many of them: a disk has its moods. */
const PLAN = { rounds: 9, most: 21, laps: 4 };
const ITEMS = 10_000;
const IN_FLIGHT = 256;

export const durable: Row = {
  what: 'durable items with 200 bytes, one a Submit, 256 in flight, each answered after its flush: against bare lmdb',
  limit: 900,
  side,
  async run(say) {
    const [own, peers] = [await makeDataDirectory(), await makeDataDirectory()];
    const rounds = await compare(own, peers, say);
    await Promise.all([own.remove(), peers.remove()]);
    return {
      figures: [
        {
          row: 'durable in',
          part: undefined,
          what: 'Submit of one durable item (on_flush) with 200 bytes, 256 in flight on one session, answered after the flush; data directory on a disk; load: a bare stream of grpc-js, without promises',
          unit: 'items/s',
          peer: 'lmdb alone, in a process of its own that nobody calls: the same records put, flushed awaited for each, same in flight, same disk',
          better: 'higher',
          enough: 0.5,
          aim: 0.75,
          outcome: { is: 'measured', rounds },
        },
      ],
    };
  },
};

async function side(dist: Dist): Promise<Side> {
  const directory = await makeDataDirectory();
  const sidecar = await startSidecar({ dist, policy: { durable: true }, dataDirectory: directory.path });
  const session = await openWhenReady(sidecar.address);
  const items = new SingleItems(session);
  return {
    parts: [
      {
        name: undefined,
        unit: 'items',
        judgedBy: 'wall',
        lap: async () => workOf(ITEMS, await items.submitAll(ITEMS, IN_FLIGHT)),
        cpuSeconds: sidecar.cpuSeconds,
      },
    ],
    async close() {
      session.close();
      await sidecar.stop();
      await directory.remove();
    },
  };
}

async function compare(own: DataDirectory, peers: DataDirectory, say: Say) {
  const sidecar = await startSidecar({ policy: { durable: true }, dataDirectory: own.path });
  const session = await openWhenReady(sidecar.address);
  const items = new SingleItems(session);
  const lmdb = await startLmdb(peers.path, ITEMS, IN_FLIGHT);
  const rounds = await interleave(PLAN, say, () => items.submitAll(ITEMS, IN_FLIGHT), lmdb.lap, {
    keyturn: sidecar.cpuSeconds,
    operations: ITEMS,
  });
  session.close();
  await Promise.all([sidecar.stop(), lmdb.close()]);
  return rounds;
}
