/** S435: what is said of a term counts when its own candidacy says it: who may stand, too, has no say in the term of another. */
import assert from 'node:assert/strict';
import { on } from 'node:events';
import { type TestContext, test } from 'node:test';
import { credentials } from '@grpc/grpc-js';
import * as wire from '../../../src/grpc/gen/keyturn/v1/leader.js';
import { LocalCoordinator } from '../../../src/local/coordinator.js';
import { settings } from '../../support/builders.js';
import { FakeClock } from '../../support/fake-clock.js';
import { message, OWN_CONNECTION } from '../../support/sidecar.js';
import { stage } from './two-principals.js';

type Command = NonNullable<wire.LeadCommand['command']>;
type News = NonNullable<wire.LeadNews['news']>;

interface Worker {
  tell(command: Command): void;
  /** @returns the first news of this kind that comes after it */
  say<K extends News['$case']>(command: Command, expected: K): Promise<Extract<News, { $case: K }>>;
}

async function led(t: TestContext) {
  const clock = new FakeClock();
  const coordinator = new LocalCoordinator(settings(), { clock });
  // Long before, if ever, somebody led.
  clock.advance(60_000);
  const { address, metadata } = await stage(t, coordinator);
  const client = new wire.LeaderServiceClient(address, credentials.createInsecure(), OWN_CONNECTION);
  t.after(() => client.close());
  const worker = (name: string): Worker => {
    const stream = client.lead(metadata(name));
    stream.on('error', () => {});
    const answers: AsyncIterator<unknown[]> = on(stream, 'data');
    const tell = (command: Command) => void stream.write({ commands: [{ candidacy: 1, command }] });
    return {
      tell,
      async say(command, expected) {
        tell(command);
        for (;;) {
          const { value } = await answers.next();
          // What the call gives is of its own type.
          for (const { news } of (value as [wire.LeadResponse])[0].news) if (isOf(news, expected)) return news;
        }
      },
    };
  };
  const leader = () =>
    new Promise<string>((resolve, reject) => {
      client.getLeader({ group: 'g' }, metadata('bob'), (error, { leader: found, predecessor } = NOBODY) =>
        error
          ? reject(error)
          : resolve(`${found?.candidateId} ${found?.phase} ${found?.term} after ${predecessor?.term}`),
      );
    });
  const stands: Command = { $case: 'stand', value: { ...message(wire.Stand), group: 'g', candidateId: 'same' } };
  const ada = worker('ada');
  const { term } = (await ada.say(stands, 'inaugurate')).value;
  const bob = worker('bob');
  await bob.say(stands, 'standing');
  return { ada, bob, term, leader };
}

const NOBODY = message(wire.GetLeaderResponse);

function isOf<K extends News['$case']>(news: News | undefined, kind: K): news is Extract<News, { $case: K }> {
  return news?.$case === kind;
}

const REPORTS: Readonly<Record<string, (term: bigint) => Command>> = {
  'that it is inaugurated': (term) => ({ $case: 'inaugurated', value: { term } }),
  'that it lives': (term) => ({ $case: 'alive', value: { term } }),
  'that it wants to yield': (term) => ({ $case: 'yield', value: { term, failed: false } }),
  'that it was handed over, with a state': (term) => ({
    $case: 'handedOver',
    value: { term, state: Buffer.from('of bob'), lost: false },
  }),
  'that it has stopped': (term) => ({ $case: 'handedOver', value: { term, state: Buffer.alloc(0), lost: true } }),
};

for (const [what, report] of Object.entries(REPORTS)) {
  test(`S435: of the term of another principal, who is being inaugurated, nobody says ${what}`, {
    timeout: 120_000,
  }, async (t) => {
    const { ada, bob, term, leader } = await led(t);
    const before = await leader();
    bob.tell(report(term));
    // In order: when this is answered, the one before was heard.
    await bob.say({ $case: 'alive', value: { term } }, 'lost');
    assert.equal(await leader(), before);
    await ada.say({ $case: 'inaugurated', value: { term } }, 'execute');
  });

  test(`S435: of the term of another principal, who leads, nobody says ${what}`, { timeout: 120_000 }, async (t) => {
    const { ada, bob, term, leader } = await led(t);
    await ada.say({ $case: 'inaugurated', value: { term } }, 'execute');
    const before = await leader();
    bob.tell(report(term));
    await bob.say({ $case: 'alive', value: { term } }, 'lost');
    assert.equal(await leader(), before);
    await ada.say({ $case: 'alive', value: { term } }, 'kept');
  });
}
