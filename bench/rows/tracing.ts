import { connect, type Keyturn } from '@keyturn/client';
import { makeKeys, QUEUE } from '../coordinator.js';
import { perSecondInFlight } from '../load/in-flight.js';
import { startSidecar } from '../load/server-process.js';
import { type Figure, harmonicMean } from '../measure.js';
import { inRounds, judged, type Lap, withCpuTime } from '../rounds.js';
import type { Row } from '../row.js';

/** Short laps, many of them: the difference that is looked for is smaller than the weather. */
const PLAN = { rounds: 9, most: 21, within: 0.02, laps: 6 };
const KEYS = 10_000;
const PAIRS = 4_000;
const ITEMS = 4_000;
const IN_FLIGHT = 256;

type Load = (keyturn: Keyturn, queue: string) => Lap;

const LOADS: Readonly<Record<'turns' | 'items', readonly [what: string, unit: string, load: Load]>> = {
  turns: [`withTurn with an empty handler, ${IN_FLIGHT} in flight over 10,000 keys`, 'turns/CPU s', turns],
  items: [`items from submitMany to the Ack of an empty handler of consume, ${ITEMS} a lap`, 'items/CPU s', items],
};

export const tracing: Row = {
  what: '@keyturn/client with the API of OpenTelemetry beside it and no SDK, against the same with tracing off',
  limit: 900,
  async run(say) {
    const sidecar = await startSidecar({ policy: { waiting_per_key: 'unlimited' } });
    // True: it would be an error if the API were not there, and both would be the same. Two of each, in this order: who connects first,
    // and who comes last, is faster or slower by that alone.
    const sides = [true, false, false, true] as const;
    const clients = sides.map((isOn, at) => connect(sidecar.address, { consumerId: `worker-${at}`, tracing: isOn }));
    const figures: Figure[] = [];
    for (const [part, [what, unit, load]] of Object.entries(LOADS)) {
      const loads = clients.map((client, at) => ({ isOn: sides[at], lap: load(client, `${QUEUE}-${at}`) }));
      const rounds = await inRounds(
        PLAN,
        (progress) => say(`${part}, ${progress}`),
        async () => {
          const values: Record<'on' | 'off', number[]> = { on: [], off: [] };
          for (let lap = 0; lap < PLAN.laps; lap++) {
            // Who comes first finds what the other left behind: each as often.
            const order = lap % 2 === 0 ? loads : loads.toReversed();
            for (const { isOn, lap: run } of order) values[isOn === true ? 'on' : 'off'].push(await run());
          }
          return { value: harmonicMean(values.on), peer: harmonicMean(values.off) };
        },
        judged,
      );
      figures.push({
        part,
        what: `${what}; tracing is on, and there is no SDK`,
        unit,
        peer: 'the same client with tracing off, same sidecar',
        better: 'higher',
        enough: 0.98,
        aim: 1,
        outcome: { is: 'measured', rounds: withCpuTime(rounds) },
      });
    }
    await Promise.all(clients.map((client) => client.close()));
    await sidecar.stop();
    return { figures };
  },
};

function turns(keyturn: Keyturn, queue: string): Lap {
  const keys = makeKeys(KEYS);
  return () =>
    perCpuSecond(PAIRS, () =>
      perSecondInFlight(PAIRS, IN_FLIGHT, async (index) => {
        const { status } = await keyturn.withTurn(queue, keys[index % KEYS] ?? '', () => undefined);
        if (status !== 'done') throw new Error(`expected a turn, got ${status}`);
      }),
    );
}

function items(keyturn: Keyturn, queue: string): Lap {
  const batch = makeKeys(KEYS)
    .slice(0, ITEMS)
    .map((key) => ({ key }));
  return () =>
    perCpuSecond(ITEMS, async () => {
      let left = ITEMS;
      let resolve: () => void = () => undefined;
      const done = new Promise<void>((settle) => {
        resolve = settle;
      });
      await keyturn.submitMany(queue, batch);
      const consumer = keyturn.consume(queue, () => void (--left === 0 && resolve()), { concurrency: 64 });
      await done;
      await consumer.stop();
    });
}

/** Of this process, the client's: other programs of the machine hardly change it. */
async function perCpuSecond(count: number, work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (count * 1_000_000) / (user + system);
}
