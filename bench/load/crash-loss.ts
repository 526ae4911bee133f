/** What a sidecar that is killed while items come in loses of those that it has answered. */
import type { Durability } from '../../src/grpc/gen/keyturn/v1/coordinator.js';
import { makeDataDirectory } from './data-directory.js';
import { openWhenReady } from './ready-session.js';
import { type SidecarOptions, startSidecar } from './server-process.js';
import { SingleItems } from './single-items.js';
import { acquire, seconds } from './wire.js';

const MOST_TURNS = 1_000;
/** s; an Acquire that has waited as long found nothing. */
const NOTHING_LEFT = 1;

export interface Loss {
  /** Items whose Submit was answered. */
  readonly answered: number;
  /** Those of them that are not there after the restart. */
  readonly missing: number;
}

/** Kills it (SIGKILL) when this many items are answered, with others under way, starts it again, and counts. */
export async function loseByCrash(durability: Durability, answers: number, inFlight: number): Promise<Loss> {
  const data = await makeDataDirectory();
  const options = { policy: { durable: true }, dataDirectory: data.path };
  const answered = await submitUntilCrash(options, durability, answers, inFlight);
  const there = await whatIsThere(options);
  await data.remove();
  return { answered: answered.size, missing: [...answered].filter((id) => !there.has(id)).length };
}

async function submitUntilCrash(
  options: SidecarOptions,
  durability: Durability,
  answers: number,
  inFlight: number,
): Promise<ReadonlySet<string>> {
  const sidecar = await startSidecar(options);
  const session = await openWhenReady(sidecar.address);
  const answered = new Set<string>();
  let killed: Promise<void> | undefined;
  const onAnswer = (id: string): void => {
    answered.add(id);
    if (answered.size === answers) killed = sidecar.kill();
  };
  await new SingleItems(session, durability).submitUntilBroken(inFlight, onAnswer);
  if (killed === undefined) throw new Error(`the session broke after ${answered.size} answers, before the crash`);
  await killed;
  session.close();
  return answered;
}

/** Takes all items, none of which has a key that another has. */
async function whatIsThere(options: SidecarOptions): Promise<ReadonlySet<string>> {
  const sidecar = await startSidecar(options);
  const session = await openWhenReady(sidecar.address);
  const there = new Set<string>();
  for (let taken = Number.POSITIVE_INFINITY; taken > 0; ) {
    const { deliveries } = await session.ask(acquire(MOST_TURNS, seconds(NOTHING_LEFT)));
    for (const { items } of deliveries) for (const { itemId } of items) there.add(itemId);
    taken = deliveries.length;
  }
  session.close();
  await sidecar.kill();
  return there;
}
