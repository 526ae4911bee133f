/** S424, S425: ids are told as their clients gave them, and names of principals stand in no id, sentence or error. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { credentials } from '@grpc/grpc-js';
import { ExplainKeyRequest, type ExplainKeyResponse } from '../../../src/grpc/gen/keyturn/v1/admin.js';
import { AcquireRequest, NewItem } from '../../../src/grpc/gen/keyturn/v1/coordinator.js';
import * as leader from '../../../src/grpc/gen/keyturn/v1/leader.js';
import { LocalCoordinator } from '../../../src/local/coordinator.js';
import { settings } from '../../support/builders.js';
import { FakeClock } from '../../support/fake-clock.js';
import { commands, expecting } from '../../support/session-client.js';
import { message, OWN_CONNECTION } from '../../support/sidecar.js';
import { failureIn } from '../errors.js';
import { type Stage, stage, turnOf } from './two-principals.js';

const CUT = 'one\u001fother';

function leaders(t: TestContext, address: string): leader.LeaderServiceClient {
  const client = new leader.LeaderServiceClient(address, credentials.createInsecure(), OWN_CONNECTION);
  t.after(() => client.close());
  return client;
}

function explained({ rawAdmin, metadata }: Stage, name: string): Promise<ExplainKeyResponse> {
  const request = message(ExplainKeyRequest, { queue: 'q', key: 'k' });
  return new Promise((resolve, reject) => {
    rawAdmin.explainKey(request, metadata(name), (error, answer) => (error ? reject(error) : resolve(answer)));
  });
}

const item = (itemId: string) => ({ ...message(NewItem), key: 'k', itemId });
const refusedItems = [
  ['items[0].item_id', commands.submit({ items: [item(CUT)] })],
  ['items[1].item_id', commands.submit({ items: [item('good'), item(CUT)] })],
  ['follow_ups[0].item.item_id', commands.ack(7n, { followUps: [{ queue: 'q', item: item(CUT) }] })],
  [
    'follow_ups[0].item.item_id',
    commands.ack(7n, {
      followUps: [{ queue: 'q', item: item(CUT) }],
      next: message(AcquireRequest, { queues: ['q'] }),
    }),
  ],
] as const;

for (const [field, command] of refusedItems) {
  test(`${field} that looks like an id of somebody is refused, and nothing of the call is done`, async (t) => {
    const on = await stage(t);
    const ada = on.session('ada');
    const [id = 0] = ada.send(command);
    const failure = failureIn(expecting('error', await ada.reply(id)));
    assert.equal(failure.code, 'INVALID_ARGUMENT');
    assert.match(failure.message, new RegExp(`${field.replaceAll(/[[\].]/g, '\\$&')}.*U\\+001F`));
    assert.equal((await explained(on, 'ada')).waitingItems, 0);
  });
}

test('tickets, sessions and candidates may have any character, and come back whole', async (t) => {
  const { session } = await stage(t);
  const ada = session('ada');
  assert.equal((await ada.ask('hello', commands.hello({ sessionId: CUT }))).sessionId, CUT);
  const answer = await ada.ask('enqueue', commands.enqueue({ ticket: CUT }));
  assert.equal(answer.ticket, CUT);
  turnOf(answer);
});

test('what is said of a key names the session of its holder by its id alone', async (t) => {
  const on = await stage(t);
  const ada = on.session('ada');
  await ada.ask('hello', commands.hello({ sessionId: CUT }));
  turnOf(await ada.ask('enqueue', commands.enqueue({ consumerId: 'worker' })));
  const { why, holder } = await explained(on, 'bob');
  assert.equal(why, `worker holds it and its session "${CUT}" renews it`);
  assert.equal(holder?.sessionId, CUT);
});

test('a second hello is told of the first one by its id alone', async (t) => {
  const { session } = await stage(t);
  const ada = session('ada');
  await ada.ask('hello', commands.hello({ sessionId: 'mine' }));
  const [id = 0] = ada.send(commands.hello({ sessionId: 'mine' }));
  const { message: told } = failureIn(expecting('error', await ada.reply(id)));
  assert.match(told, /said hello already, as session "mine"/);
});

test('what those who stand wait for names the leader by its id alone', async (t) => {
  const clock = new FakeClock();
  const coordinator = new LocalCoordinator(settings(), { clock });
  // Long before, if ever, somebody led.
  clock.advance(60_000);
  const { address, metadata } = await stage(t, coordinator);
  const client = leaders(t, address);
  const stream = client.lead(metadata('ada'));
  stream.on('error', () => {});
  const stands = async (candidacy: number, candidateId: string) => {
    const value = { ...message(leader.Stand), group: 'g', candidateId };
    const told = once(stream, 'data');
    stream.write({ commands: [{ candidacy, command: { $case: 'stand', value } }] });
    await told;
  };
  await stands(1, 'first');
  await stands(2, 'second');
  const answer = await new Promise<leader.GetLeaderResponse>((resolve, reject) => {
    client.getLeader({ group: 'g' }, metadata('bob'), (error, found) => (error ? reject(error) : resolve(found)));
  });
  assert.equal(answer.leader?.candidateId, 'first');
  assert.equal(answer.why, 'first is being inaugurated');
  stream.cancel();
});
