/** S520 to S525: follow-ups to another partition, as two cores have them: outbox here, inbox there, and crashes between any two steps. */
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, it } from 'node:test';
import type { DeliverAnswer, FollowUp, NewItem, Parcel } from '../../../src/coordinator.js';
import { MOST_PARCELS } from '../../../src/core/contract/refusals.js';
import type { OutboxRow } from '../../../src/core/contract/rows.js';
import { SharedUse } from '../../../src/core/core.js';
import { followUpId } from '../../../src/core/structures/own-id.js';
import { ByteReader } from '../../../src/local/journal/codec/byte-reader.js';
import { ByteWriter } from '../../../src/local/journal/codec/byte-writer.js';
import { keyOf, readRow, writeRow } from '../../../src/local/journal/codec/row-codec.js';
import { bytes, newItem, QUEUE, type SettingsChange } from '../../support/builders.js';
import { Call } from '../../support/call.js';
import { recount } from '../../support/recount.js';
import { atOnce, okay } from '../stage.js';
import { Lives } from './reborn.js';

const ALL = { queue: QUEUE, key: undefined, itemIds: [] } as const;
const PARTITIONS = 4;
const SOURCE = 1;
const TARGET = 2;
const RETRY = { initial: 50, factor: 2, max: 400, maxAttempts: 3, jitter: 'none' } as const;
const HERE: SettingsChange = { queues: { [QUEUE]: { durable: true, lease: 60_000 } } };
const THERE: SettingsChange = { queues: { other: { durable: true, lease: 60_000, retry: RETRY } } };

function away(change: Partial<NewItem> & Pick<NewItem, 'itemId'>, queue = 'other'): FollowUp {
  return { queue, item: newItem({ payload: bytes('p'), ...change }), target: TARGET };
}

class Pair {
  readonly source: Lives;
  readonly target: Lives;

  constructor(here = HERE, there = THERE) {
    this.source = new Lives(here, true, { number: SOURCE, of: PARTITIONS });
    this.target = new Lives(there, true, { number: TARGET, of: PARTITIONS });
    this.source.flush();
    this.target.flush();
  }

  /** A turn of an item, and its Ack. */
  ack(followUps: readonly FollowUp[], key = 'k') {
    const { stage } = this.source;
    stage.submit('s', [{ key }]);
    const [delivery] = stage.acquire('w').value.deliveries;
    const token = delivery?.turn.token ?? 0;
    return { token, call: stage.ack('a', { key, token, followUps }) };
  }

  get parcels(): readonly Parcel[] {
    return this.source.stage.core.parcelsFor(TARGET);
  }

  deliver(parcels = this.parcels, source = SOURCE, isCounted = false): Call<DeliverAnswer> {
    const call = new Call<DeliverAnswer>();
    const { stage } = this.target;
    stage.core.deliver({ source, parcels, isCounted }, call, stage.now);
    stage.carry();
    recount(stage.core.inside, stage.now);
    return call;
  }

  delivered({ upTo }: DeliverAnswer): void {
    const { stage } = this.source;
    stage.core.delivered(TARGET, upTo, stage.now);
    recount(stage.core.inside, stage.now);
  }

  /** Ids of what waits there. */
  get there(): readonly string[] {
    const queue = this.target.stage.queue('other');
    return queue === undefined
      ? []
      : [...(this.target.stage.core.inside.queues.get('other')?.items.scan() ?? [])].map(({ id }) => id);
  }

  get letters() {
    const letters = this.target.stage.core.inside.queues.get('other')?.deadLetters ?? new Map();
    return [...letters.values()].map(({ item, cause }) => ({ id: item.id, cause, error: item.lastError }));
  }
}

describe('S520: an Ack with follow-ups to another partition', () => {
  it('says that they are on their way, and lets nothing leave before it is on disk', () => {
    const pair = new Pair();
    const { call } = pair.ack([away({ itemId: 'one' })]);
    assert.deepEqual(call.value.followUps, [
      { decision: 'accept', itemId: 'one', supersededId: undefined, onItsWay: true },
    ]);
    assert.deepEqual(pair.parcels, [], 'it is not written');
    pair.source.flush();
    assert.equal(pair.parcels.length, 1);
    assert.deepEqual(pair.source.stage.core.takeEffect(), { kind: 'parcels', target: TARGET });
    const rows = pair.source.disk.rows().filter(({ table }) => table === 'outbox');
    assert.equal(rows.length, 1);
  });

  it('is answered late, whatever the durability of its queue', () => {
    const pair = new Pair({ queues: { [QUEUE]: { durable: true, durability: 'interval', lease: 60_000 } } });
    const { core, now } = pair.source.stage;
    pair.source.stage.submit('s', [{}]);
    const [delivery] = pair.source.stage.acquire('w').value.deliveries;
    const request = { queue: QUEUE, key: 'k', token: delivery?.turn.token ?? 0, result: undefined, next: undefined };
    core.ack({ ...request, followUps: [away({ itemId: 'one' })] }, new Call(), now);
    assert.equal(core.takeEffect(), undefined);
    assert.equal(core.takeHeld()?.kind, 'ack');
    assert.ok(core.urgent);
  });

  it('that is repeated is answered the same, and sends nothing again, also after a start', () => {
    const pair = new Pair();
    const { token, call } = pair.ack([away({ itemId: 'one' })]);
    pair.source.flush();
    for (let life = 0; life < 2; life++) {
      const again = pair.source.stage.ack('a', { token, followUps: [away({ itemId: 'one' })] });
      assert.deepEqual(again.value, call.value);
      pair.source.flush();
      assert.equal(pair.parcels.length, 1);
      pair.source.restart();
    }
  });

  it('is lost with what it sends if it was not written, and sends nothing then', () => {
    const pair = new Pair();
    pair.source.stage.submit('s', [{}]);
    pair.source.flush();
    pair.ack([away({ itemId: 'one' })]);
    pair.source.restart();
    assert.deepEqual(pair.parcels, []);
    assert.equal(pair.source.stage.core.outgoing.size, 0);
  });

  it('is one parcel for each partition, beside what is accepted in its step', () => {
    const pair = new Pair();
    const elsewhere = { ...away({ itemId: 'two' }), target: 3 };
    const here = { queue: QUEUE, item: newItem({ key: 'x', itemId: 'three' }) };
    const { call } = pair.ack([away({ itemId: 'one' }), here, elsewhere, away({ itemId: 'four' })]);
    assert.deepEqual(
      call.value.followUps.map((one) => [one.itemId, 'onItsWay' in one]),
      [
        ['one', true],
        ['three', false],
        ['two', true],
        ['four', true],
      ],
    );
    pair.source.flush();
    assert.deepEqual(
      pair.parcels[0]?.followUps.map(({ item }) => item.itemId),
      ['one', 'four'],
    );
    assert.equal(pair.source.stage.core.outgoing.size, 2);
    assert.deepEqual(pair.source.stage.core.outgoing.targets, [TARGET, 3]);
  });

  it('is charged for them until they are there, and refused where there is no memory', () => {
    const pair = new Pair({ ...HERE, limits: { payloadMemoryBytes: 3_000 } });
    const before = pair.source.stage.core.inside.payloadBytes;
    const { stage } = pair.source;
    stage.submit('s', [{ key: 'k' }]);
    const token = stage.acquire('w').value.deliveries[0]?.turn.token ?? 0;
    stage.submit('s', [{ key: 'x', itemId: 'x', payload: new Uint8Array(2_100) }]);
    const followUps = [away({ itemId: 'big', payload: new Uint8Array(400) })];
    assert.equal(stage.ack('a', { token, followUps }).refusal.kind, 'memory_full');
    const [large] = stage.acquire('w').value.deliveries;
    stage.ack('l', { key: 'x', token: large?.turn.token ?? 0 });
    assert.equal(pair.source.stage.renew('r', token).value.results[0]?.alive, true, 'nothing has changed');
    assert.ok('answer' in (pair.source.stage.ack('a', { token, followUps: [away({ itemId: 'one' })] }).outcome ?? {}));
    assert.ok(pair.source.stage.core.inside.payloadBytes > before + 256);
    pair.source.flush();
    pair.delivered(pair.deliver().value);
    assert.equal(pair.source.stage.core.inside.payloadBytes, before);
  });

  it('may name no id that only servers make, or one of the other queue could be meant: refused, and nothing changes', () => {
    const pair = new Pair();
    const made = pair.target.stage.submit('s', [{}], 'other').value.results[0]?.itemId ?? '';
    assert.match(made, /^~.*-0$/);
    for (const itemId of [made, made.replace(/0$/, '1'), '~']) {
      const { call, token } = pair.ack([away({ itemId: 'one' }), away({ itemId })], itemId);
      assert.ok(call.refusal.kind === 'bad_request');
      assert.equal(call.refusal.violations[0]?.field, 'follow_ups[1].item.item_id');
      assert.equal(pair.source.stage.renew('r', token, QUEUE, itemId).value.results[0]?.alive, true);
    }
  });

  it('with more stamps than are reserved is refused, changes nothing, and goes through when they are', () => {
    const pair = new Pair();
    const { stage } = pair.source;
    stage.submit('s', [{ key: 'k' }]);
    const token = stage.acquire('w').value.deliveries[0]?.turn.token ?? 0;
    pair.source.flush();
    const { tokens } = stage.core.inside;
    // The next caller of the key takes one, before them.
    stage.enQueue('c', { key: 'k', wait: 1_000 });
    while (tokens.mayGive(6)) tokens.next();
    const followUps = Array.from({ length: 5 }, (_, at) => ({ ...away({ itemId: `i${at}` }), target: 2 + at }));
    assert.equal(stage.ack('a', { token, followUps }).refusal.kind, 'store_unavailable');
    assert.equal(stage.core.outgoing.size, 0);
    assert.equal(stage.renew('r', token).value.results[0]?.alive, true);
    pair.source.flush();
    assert.equal(stage.ack('a', { token, followUps }).value.followUps.length, 5);
    assert.equal(stage.core.outgoing.size, 5);
    pair.source.flush();
    const rows = pair.source.disk.rows();
    const floor = rows.find((row) => row.table === 'floor')?.token ?? 0;
    assert.ok(rows.every((row) => row.table !== 'outbox' || row.stamp < floor));
  });

  it('S521: is refused when too many are on their way, and nothing changes', () => {
    const pair = new Pair();
    const { stage } = pair.source;
    for (let i = 0; i < MOST_PARCELS; i++) {
      pair.ack([away({ itemId: `i${i}` })]);
      if (i % 1_000 === 0) pair.source.flush();
    }
    const { call, token } = pair.ack([away({ itemId: 'more' })]);
    assert.deepEqual(call.refusal.kind === 'limit' && [call.refusal.subject, call.refusal.limit], [
      'follow_ups_on_their_way',
      MOST_PARCELS,
    ]);
    assert.equal(stage.renew('r', token).value.results[0]?.alive, true);
    assert.ok(stage.ack('a', { token }).value, 'without them it goes through');
  });
});

describe('S522: a parcel is accepted once', () => {
  it('whatever is sent again, in one life or after a crash of either side', () => {
    const pair = new Pair();
    pair.ack([away({ itemId: 'one' })]);
    pair.source.flush();
    const parcels = pair.parcels;
    assert.deepEqual(pair.deliver().value, { upTo: parcels[0]?.stamp, isElsewhere: false });
    pair.deliver();
    // Not written: the other side was not told, and sends it again.
    pair.target.restart();
    assert.deepEqual(pair.there, []);
    pair.deliver();
    pair.target.flush();
    // The answer is lost with its home.
    pair.target.restart();
    pair.source.restart();
    assert.deepEqual(pair.parcels, parcels, 'the next home sends the same');
    const answer = pair.deliver().value;
    assert.deepEqual(pair.there, ['one']);
    pair.delivered(answer);
    pair.source.flush();
    assert.deepEqual([pair.parcels, pair.source.disk.rows().filter(({ table }) => table === 'outbox')], [[], []]);
    assert.equal(pair.target.disk.rows().filter(({ table }) => table === 'inbox').length, 1);
  });

  it('also when its item is done and forgotten: the stamp is what is known', () => {
    const pair = new Pair(HERE, { queues: { other: { durable: true, resultTtl: 0 } } });
    pair.ack([away({ itemId: 'one' })]);
    pair.source.flush();
    pair.deliver();
    const { stage } = pair.target;
    const [delivery] = stage.acquire('w', { queues: ['other'] }).value.deliveries;
    stage.ack('w', { queue: 'other', token: delivery?.turn.token ?? 0 });
    pair.target.flush();
    pair.target.restart({ away: 60_000 });
    pair.deliver();
    assert.deepEqual(pair.there, []);
  });

  it('in the order of the Acks, and those of another partition do not matter', () => {
    const pair = new Pair();
    for (const itemId of ['a', 'b', 'c']) pair.ack([away({ itemId })]);
    pair.source.flush();
    const [a, b, c] = pair.parcels;
    assert.ok(a && b && c && a.stamp < b.stamp && b.stamp < c.stamp);
    pair.deliver([a]);
    pair.deliver([{ ...c, followUps: [away({ itemId: 'd' })] }], 3);
    assert.deepEqual(pair.deliver([a, b, c]).value, { upTo: c.stamp, isElsewhere: false });
    pair.deliver([b]);
    assert.deepEqual(pair.there, ['a', 'd', 'b', 'c']);
  });

  it('S523: a home whose store lost its parcels gives none a stamp that was given: what comes then is not taken for known', () => {
    const pair = new Pair();
    pair.ack([away({ itemId: 'lost' })]);
    pair.source.flush();
    pair.deliver();
    const beside = new Pair();
    // As the next home begins that finds nothing: its tokens are above the clock.
    beside.source.restart({ away: 1 });
    beside.ack([away({ itemId: 'new' })]);
    beside.source.flush();
    assert.equal(pair.deliver(beside.parcels).value.upTo, beside.parcels[0]?.stamp);
    assert.deepEqual(pair.there, ['lost', 'new']);
  });

  it('has what was not written yet told only when it is', () => {
    const pair = new Pair();
    pair.ack([away({ itemId: 'one' })]);
    pair.source.flush();
    const { core, now } = pair.target.stage;
    for (const _ of ['new', 'known already']) {
      core.deliver({ source: SOURCE, parcels: pair.parcels }, new Call(), now);
      assert.equal(core.takeEffect(), undefined);
      assert.equal(core.takeHeld()?.kind, 'deliver');
    }
  });
});

describe('S524: what the other queue does not take now', () => {
  const FULL: SettingsChange = { queues: { other: { durable: true, maxWaiting: 2, maxDeadLetters: 1 } } };

  it('holds up its line, and nothing of it is taken: all of an Ack or nothing', () => {
    const pair = new Pair(HERE, FULL);
    pair.target.stage.submit('s', [{ key: 'x', itemId: 'x' }], 'other');
    pair.ack([away({ key: 'a', itemId: 'a' }), away({ key: 'b', itemId: 'b' })]);
    pair.ack([away({ key: 'c', itemId: 'c' })]);
    pair.source.flush();
    assert.equal(pair.deliver().refusal.kind, 'queue_full');
    assert.deepEqual(pair.there, ['x']);
    const { stage } = pair.target;
    const [delivery] = stage.acquire('w', { queues: ['other'] }).value.deliveries;
    assert.equal(delivery?.items[0]?.itemId, 'x');
    assert.deepEqual(pair.deliver().value.upTo, pair.parcels[0]?.stamp, 'as far as there is room');
    assert.deepEqual(pair.there, ['x', 'a', 'b']);
  });

  it('comes alone where the queue never has room for all of an Ack', () => {
    const pair = new Pair(HERE, FULL);
    pair.ack(['a', 'b', 'c'].map((key) => away({ key, itemId: key })));
    pair.source.flush();
    pair.deliver();
    assert.deepEqual(pair.there, ['a', 'b', 'c']);
  });

  it('of a queue that left before the home began is not taken, though the core knows nothing of that', () => {
    const pair = new Pair();
    pair.ack([away({ itemId: 'one' }), away({ itemId: 'two' }, 'third')]);
    pair.source.flush();
    const { core, now } = pair.target.stage;
    const call = new Call<DeliverAnswer>();
    core.deliver({ source: SOURCE, parcels: pair.parcels }, call, now, ({ queue }) => queue === 'third');
    pair.target.stage.carry();
    assert.deepEqual([call.value, pair.there], [{ upTo: 0, isElsewhere: true }, []]);
  });

  it('of a queue that is not there (any more) is told, and sent elsewhere under another stamp', () => {
    const pair = new Pair();
    const { core, now } = pair.target.stage;
    core.putAway('other', { kind: 'no_home', partition: TARGET, description: 'it has left', retryAfter: 50 });
    pair.ack([away({ itemId: 'here' }, 'third'), away({ itemId: 'gone' })]);
    pair.source.flush();
    const [before] = pair.parcels;
    assert.deepEqual(pair.deliver().value, { upTo: 0, isElsewhere: true });
    const source = pair.source.stage.core;
    assert.equal(
      source.sendElsewhere(TARGET, () => TARGET, now),
      false,
      'by its own routes it is there',
    );
    assert.equal(
      source.sendElsewhere(TARGET, ({ queue }) => (queue === 'other' ? 3 : TARGET), now),
      true,
    );
    recount(source.inside, now);
    pair.source.flush();
    const [here] = pair.parcels;
    const [gone] = source.parcelsFor(3);
    assert.ok(before && here && gone && here.stamp > before.stamp && gone.stamp > before.stamp);
    assert.deepEqual(
      [here, gone].map(({ followUps }) => followUps[0]?.item.itemId),
      ['here', 'gone'],
    );
    assert.equal(pair.source.disk.rows().filter(({ table }) => table === 'outbox').length, 2);
  });
});

describe('S621: what goes to a queue that its partition does not have', () => {
  const NAMED: SettingsChange = { ...THERE, autoCreate: false };
  const LETTER = { cause: 'refused', attempts: 0, destination: { queue: 'none', itemId: 'lost', target: TARGET } };

  function scene(change: SettingsChange = HERE) {
    const pair = new Pair(change, NAMED);
    pair.ack([away({ itemId: 'fine' }), away({ itemId: 'lost', headers: new Map([['h', '1']]) }, 'none')]);
    pair.ack([away({ itemId: 'next' })]);
    pair.source.flush();
    return pair;
  }

  /** As who sends it does with the refusal. */
  function told(pair: Pair): boolean {
    const { refusal } = pair.deliver();
    assert.deepEqual(refusal, { kind: 'no_such_queue', queue: 'none' });
    const { stage } = pair.source;
    const isLetter = stage.core.notTaken(TARGET, pair.parcels[0]?.stamp ?? 0, 'none', stage.now);
    recount(stage.core.inside, stage.now);
    return isLetter;
  }

  function lettersOf({ source }: Pair) {
    const letters = source.stage.core.inside.queues.get(QUEUE)?.deadLetters ?? new Map();
    return [...letters.values()].map(({ item, cause, destination }) => ({
      cause,
      attempts: item.attempts,
      destination,
    }));
  }

  it('becomes a dead letter of the queue of its Ack, and holds up nothing', () => {
    const pair = scene();
    assert.ok(told(pair));
    assert.deepEqual(pair.parcels, [], 'not before that is written: the parcel as it was could come back');
    pair.source.flush();
    pair.delivered(pair.deliver().value);
    assert.deepEqual(pair.there, ['fine', 'next']);
    assert.deepEqual(lettersOf(pair), [LETTER]);
    assert.equal(pair.source.stage.core.outgoing.size, 0);
  });

  it('is all or nothing in a crash', () => {
    const pair = scene();
    told(pair);
    pair.source.restart();
    assert.deepEqual([lettersOf(pair), pair.parcels.length], [[], 2]);
    told(pair);
    pair.source.flush();
    pair.source.restart();
    assert.deepEqual(lettersOf(pair), [LETTER]);
    pair.delivered(pair.deliver().value);
    assert.deepEqual(pair.there, ['fine', 'next']);
  });

  it('is sent there again by Redrive, as it was, and is gone by Discard', () => {
    const pair = scene();
    told(pair);
    pair.source.flush();
    pair.delivered(pair.deliver().value);
    pair.source.flush();
    pair.source.restart();
    const { stage } = pair.source;
    assert.equal(okay(atOnce(stage.core.redrive(ALL, 100, () => stage.now))), 1);
    recount(stage.core.inside, stage.now);
    pair.source.flush();
    const [parcel] = pair.parcels;
    const item = newItem({ payload: bytes('p'), itemId: 'lost', headers: new Map([['h', '1']]) });
    assert.deepEqual(parcel?.followUps, [{ queue: 'none', item, target: TARGET }]);
    assert.deepEqual(lettersOf(pair), []);
    told(pair);
    assert.equal(okay(atOnce(stage.core.discardDead(ALL, 100, () => stage.now))), 1);
    recount(stage.core.inside, stage.now);
    assert.deepEqual([lettersOf(pair), stage.core.outgoing.size], [[], 0]);
  });

  it('waits where the queue of its Ack has no room for the letter', () => {
    const pair = scene({ queues: { [QUEUE]: { durable: true, lease: 60_000, maxDeadLetters: 1 } } });
    const { stage } = pair.source;
    stage.submit('s', [{ key: 'x', itemId: 'dies' }]);
    const [delivery] = stage.acquire('w').value.deliveries;
    stage.nack('n', { key: 'x', token: delivery?.turn.token ?? 0, kind: 'dead_letter' });
    assert.ok(!told(pair));
    assert.equal(pair.parcels.length, 2);
  });

  it('S622: of an Ack that asks for more than its own queues could ever take is refused as a Submit is', () => {
    const { stage } = new Lives({ queues: { [QUEUE]: { durable: true, lease: 60_000, maxWaiting: 1 } } });
    stage.submit('s', [{ key: 'k' }]);
    const token = stage.acquire('w').value.deliveries[0]?.turn.token ?? 0;
    const followUps = ['x', 'y'].map((key) => ({ queue: QUEUE, item: newItem({ key }) }));
    const { refusal } = stage.ack('a', { token, followUps });
    assert.equal(refusal.kind === 'bad_request' && refusal.violations[0]?.field, 'follow_ups');
    assert.ok(stage.ack('a', { token, followUps: followUps.slice(1) }).value);
  });

  it('of which nothing else is in the parcel lets the parcel go', () => {
    const pair = new Pair(HERE, NAMED);
    pair.ack([away({ itemId: 'lost' }, 'none'), away({ itemId: 'lost' }, 'none')]);
    pair.source.flush();
    assert.ok(told(pair));
    assert.deepEqual(pair.parcels, []);
    assert.equal(lettersOf(pair).length, 2);
    assert.equal(pair.source.stage.core.outgoing.size, 0);
  });
});

describe('S624: room for what is on its way', () => {
  const FULL = { limits: { payloadMemoryBytes: 8_000 } };
  const PAYLOAD = new Uint8Array(1_000);

  /** Acks until there is no memory for another one. */
  function fill(pair: Pair): number {
    for (let at = 0; ; at += 1) {
      const { call, token } = pair.ack([away({ itemId: `i${at}`, key: `k${at}`, payload: PAYLOAD })], `k${at}`);
      if (call.outcome === undefined || 'answer' in call.outcome) continue;
      assert.equal(call.refusal.kind, 'memory_full');
      pair.source.stage.ack('a', { key: `k${at}`, token });
      pair.source.flush();
      return at;
    }
  }

  it('is there where both partitions are in one process, however full it is', () => {
    const pair = new Pair({ ...HERE, ...FULL }, { ...THERE, ...FULL });
    const shared = new SharedUse();
    for (const { stage } of [pair.source, pair.target]) stage.core.join(shared, () => undefined);
    const sent = fill(pair);
    assert.ok(sent > 2);
    while (pair.parcels.length > 0) pair.delivered(pair.deliver(pair.parcels, SOURCE, true).value);
    assert.equal(pair.there.length, sent);
    assert.ok(shared.use.payloadBytes <= 8_000);
  });

  it('is a quarter beyond the limit where they are in two, and then one Ack after the other as room comes free', () => {
    const pair = new Pair({ ...HERE, ...FULL }, { ...THERE, ...FULL });
    const sent = fill(pair);
    const { stage } = pair.target;
    const there = Array.from({ length: 6 }, (_, at) => ({ key: `x${at}`, itemId: `x${at}`, payload: PAYLOAD }));
    stage.submit('s', there, 'other');
    pair.delivered(pair.deliver().value);
    assert.ok(stage.core.inside.payloadBytes > 8_000 && stage.core.inside.payloadBytes <= 10_000);
    assert.equal(pair.deliver().refusal.kind, 'memory_full');
    const more = stage.submit('s', [{ key: 'y' }], 'other');
    assert.equal(more.refusal.kind, 'memory_full', 'it is for what was accepted elsewhere alone');
    for (let left = 6 + sent; left > 0; left -= 1) {
      const [delivery] = stage.acquire('w', { queues: ['other'] }).value.deliveries;
      stage.ack('a', { queue: 'other', key: delivery?.turn.key ?? '', token: delivery?.turn.token ?? 0 });
      if (pair.parcels.length > 0) pair.delivered(pair.deliver().value);
    }
    assert.deepEqual([pair.parcels.length, pair.there.length], [0, 0]);
  });

  it('of memory_bytes too: what is kept here is what their keys will cost there', () => {
    const memoryBytes = 120_000;
    const limits = { limits: { memoryBytes, payloadMemoryBytes: memoryBytes } };
    const pair = new Pair({ ...HERE, ...limits }, { ...THERE, ...limits });
    const shared = new SharedUse();
    for (const { stage } of [pair.source, pair.target]) stage.core.join(shared, () => undefined);
    const sent = fill(pair);
    while (pair.parcels.length > 0) pair.delivered(pair.deliver(pair.parcels, SOURCE, true).value);
    assert.equal(pair.there.length, sent);
    assert.ok(shared.use.memoryBytes <= memoryBytes * (1 + 1 / 8));
  });

  it('S623: what finds none is named with the reason to who looks for it', () => {
    const pair = new Pair(HERE, { queues: { other: { durable: true, maxWaiting: 1 } } });
    pair.target.stage.submit('s', [{ key: 'x', itemId: 'x' }], 'other');
    pair.ack([away({ itemId: 'late', key: 'late' })]);
    pair.source.flush();
    pair.deliver();
    const { stage } = pair.target;
    const whys = () => [
      okay(stage.core.getItem('other', 'late', stage.now)).why,
      okay(stage.core.explainKey('other', 'late', stage.now)).why,
    ];
    for (const why of whys())
      assert.match(why, /^a follow-up on its way from partition 1 is not taken now: queue other/);
    const [delivery] = stage.acquire('w', { queues: ['other'] }).value.deliveries;
    stage.ack('a', { queue: 'other', key: 'x', token: delivery?.turn.token ?? 0 });
    pair.deliver();
    assert.ok(whys().every((why) => !why.includes('on its way')));
  });

  it('is not kept for more than a quarter of the limit: such an Ack is refused', () => {
    const pair = new Pair({ ...HERE, ...FULL });
    const { call, token } = pair.ack([away({ itemId: 'big', payload: new Uint8Array(1_900) })]);
    assert.equal(call.refusal.kind === 'bad_request' && call.refusal.violations[0]?.field, 'follow_ups');
    assert.equal(pair.source.stage.renew('r', token).value.results[0]?.alive, true);
  });
});

describe('S525: what the other queue never takes', () => {
  it('becomes a dead letter of it that says why, and the rest of the Ack is accepted', () => {
    const pair = new Pair();
    pair.target.stage.submit('s', [{ itemId: 'taken', payload: bytes('another') }], 'other');
    pair.ack([away({ itemId: 'taken' }), away({ itemId: 'fine' })]);
    pair.source.flush();
    const stamp = pair.parcels[0]?.stamp ?? 0;
    pair.delivered(pair.deliver().value);
    assert.deepEqual(pair.there, ['taken', 'fine']);
    assert.deepEqual(
      pair.letters.map(({ id, cause }) => [id, cause]),
      [[`~${stamp.toString(36)}.0`, 'refused']],
    );
    assert.match(pair.letters[0]?.error ?? '', /item_id: "taken" is the id of another item/);
    pair.target.flush();
    pair.target.restart();
    assert.equal(pair.letters.length, 1);
  });

  it('also what would wait for nothing known; those of one Ack may name each other', () => {
    const pair = new Pair();
    const after = (itemId: string) => [{ queue: 'other', itemId }];
    pair.ack([away({ itemId: 'b', key: 'b', after: after('a') }), away({ itemId: 'a', key: 'a' })]);
    pair.ack([away({ itemId: 'd', key: 'd', after: after('never') }), away({ itemId: 'e', key: 'e' })]);
    pair.source.flush();
    pair.deliver();
    assert.deepEqual(pair.there, ['b', 'a', 'e']);
    assert.deepEqual(
      pair.letters.map(({ id }) => id),
      ['d'],
    );
    assert.match(pair.letters[0]?.error ?? '', /after\[0\]/);
  });

  it('waits where there is no room for the letter', () => {
    const pair = new Pair(HERE, { queues: { other: { durable: true, maxDeadLetters: 1 } } });
    pair.target.stage.submit('s', [{ itemId: 'taken', payload: bytes('another') }], 'other');
    pair.ack([away({ itemId: 'taken' })]);
    pair.ack([away({ itemId: 'taken' })]);
    pair.source.flush();
    pair.deliver();
    assert.equal(pair.letters.length, 1);
    const refusal = pair.deliver(pair.parcels.slice(1)).refusal;
    assert.equal(
      refusal.kind === 'queue_full' && refusal.description,
      'queue other has as many dead letters as max_dead_letters allows: 1',
    );
  });

  it('has an id of the server where its client gave none', () => {
    const pair = new Pair();
    const { stage } = pair.source;
    stage.submit('s', [{}]);
    const token = stage.acquire('w').value.deliveries[0]?.turn.token ?? 0;
    const itemId = followUpId(token, 0);
    stage.ack('a', { token, followUps: [away({ itemId })] });
    pair.source.flush();
    pair.deliver();
    assert.deepEqual([pair.there, pair.letters], [[itemId], []]);
  });
});

it('rows of both are the same when they were written as bytes', () => {
  const whole = newItem({
    key: 'schlüssel',
    payload: Uint8Array.of(0, 255),
    headers: new Map([['a', 'b']]),
    itemId: 'id',
    idempotencyKey: 'ik',
    delay: 1.5,
    after: [{ queue: 'q', itemId: 'x' }],
    afterUnknown: 'wait',
  });
  const followUps = [whole, newItem({ key: '' })].map((item) => ({ queue: 'other', item, target: 255 }));
  const outbox: OutboxRow = { table: 'outbox', stamp: 2 ** 52, target: 255, from: 'orders', followUps };
  for (const row of [outbox, { table: 'inbox', source: 255, stamp: 2 ** 52 } as const]) {
    const writer = new ByteWriter();
    writer.reset();
    writeRow(writer, row, keyOf(row));
    const value = Buffer.from(writer.end());
    const reader = new ByteReader();
    reader.show({ bytes: value, size: value.length });
    assert.deepEqual(readRow(reader, row.table, keyOf(row)), row);
  }
});
