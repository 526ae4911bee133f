/** The row `stuck` on a heap of its own. Argument: how many items are parked behind the stuck key; 0: there is none. */
import type { AcquireAnswer, AcquireRequest, NewItem, Reply } from '../../src/coordinator.js';
import type { LocalCoordinator } from '../../src/local/coordinator.js';
import { HOUR, IGNORE, makeKeys, newItem, QUEUE, startCoordinator } from '../coordinator.js';
import { serveLaps } from '../heaps.js';
import { type Lap, perSecond } from '../rounds.js';

const KEYS = 10_000;
const ITEMS_PER_SUBMIT = 100;
const TURNS_PER_ACQUIRE = 32;
const SUBMITS = 1_000;

async function parkBehindStuckKey(coordinator: LocalCoordinator, parked: number): Promise<void> {
  const submit = (count: number) => {
    const items = Array.from({ length: count }, () => newItem('stuck'));
    coordinator.submit({ queue: QUEUE, items, waitForRoom: 0, durability: undefined }, IGNORE);
  };
  submit(1);
  coordinator.acquire(acquireRequest(), IGNORE);
  await perSecond(parked / 1_000, () => submit(1_000));
  const view = coordinator.stats().queues[0]?.view;
  if (view?.waitingItems !== parked || view.liveTurns !== 1) throw new Error('the stuck key is not stuck');
}

/** Every item that is submitted is taken and acknowledged before the next batch. */
function makeLap(coordinator: LocalCoordinator): Lap {
  const keys = makeKeys(KEYS);
  const worker = new DispatchWorker(coordinator);
  return async () => {
    const before = worker.turns;
    const submitsPerSecond = await perSecond(SUBMITS, (batch) => {
      const items: NewItem[] = [];
      for (let index = 0; index < ITEMS_PER_SUBMIT; index++) {
        items.push(newItem(keys[(batch * ITEMS_PER_SUBMIT + index) % KEYS] ?? ''));
      }
      coordinator.submit({ queue: QUEUE, items, waitForRoom: 0, durability: undefined }, IGNORE);
      worker.takeAll();
    });
    if (worker.turns - before !== SUBMITS * ITEMS_PER_SUBMIT) throw new Error('an item was not dispatched');
    return submitsPerSecond * ITEMS_PER_SUBMIT;
  };
}

class DispatchWorker implements Reply<AcquireAnswer> {
  turns = 0;
  #taken = 0;

  constructor(private readonly coordinator: LocalCoordinator) {}

  takeAll(): void {
    do this.coordinator.acquire(acquireRequest(), this);
    while (this.#taken > 0);
  }

  answer({ deliveries }: AcquireAnswer): boolean {
    this.#taken = deliveries.length;
    this.turns += deliveries.length;
    for (const { turn } of deliveries) {
      const { queue, key, token } = turn;
      this.coordinator.ack({ queue, key, token, result: undefined, followUps: [], next: undefined }, IGNORE);
    }
    return true;
  }

  refuse(refusal: { readonly kind: string }): void {
    throw new Error(`refused: ${refusal.kind}`);
  }
}

function acquireRequest(): AcquireRequest {
  return {
    queues: [QUEUE],
    key: undefined,
    consumerId: 'worker-1',
    ticket: undefined,
    maxTurns: TURNS_PER_ACQUIRE,
    maxItemsPerTurn: 1,
    wait: 0,
    lease: undefined,
  };
}

const parked = Number(process.argv[2]);
const coordinator = startCoordinator({ lease: HOUR, maxWaiting: 2_000_000 });
if (parked > 0) await parkBehindStuckKey(coordinator, parked);
serveLaps(makeLap(coordinator));
