/** Leaders in a cluster on bad and ordinary days: members on a store in memory, candidates at gateways. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Candidate, Fleet, type Gateway, TTL } from './fleet.js';

/** A cluster of two, a leader who works, and one who waits. */
async function led() {
  const fleet = new Fleet();
  await fleet.member('a');
  await fleet.member('b');
  const gateway = fleet.gateway();
  const first = gateway.stand('first');
  await fleet.stage.pass(100);
  first.inaugurated();
  await fleet.stage.pass(100);
  const second = gateway.stand('second');
  await fleet.stage.pass(100);
  assert.deepEqual([first.take(), second.take()], [['inaugurate', 'execute'], ['standing 1']]);
  return { fleet, gateway, first, second, term: first.term };
}

async function leads(gateway: Gateway, { id, term }: Candidate): Promise<void> {
  const { leader } = await gateway.who();
  assert.deepEqual([leader?.candidateId, leader?.term], [id, term]);
}

describe('S398: leaders of a cluster', () => {
  it('keep their term over the death of the home, and leave their state over it', async () => {
    const { fleet, gateway, first, second, term } = await led();
    const { home } = fleet;
    assert.ok(home !== undefined);
    fleet.kill(home);
    // Nobody hears it meanwhile: by its own clock the worker has its ttl, and the new home gives it the whole of it again.
    await first.live(4_000);
    await fleet.stage.until(() => fleet.home !== undefined);
    await first.live(3_000);
    assert.deepEqual(
      [first.term, first.take().includes('lost'), second.take().includes('inaugurate')],
      [term, false, false],
    );
    await leads(gateway, first);
    first.handOver('offset 7');
    await fleet.stage.pass(200);
    assert.deepEqual(second.take().at(-1), 'inaugurate');
    assert.equal(second.predecessor, 'first "offset 7"');
    assert.ok(second.term > term, 'terms grow over homes');
    assert.equal(second.term % 4, fleet.partition, 'the term names its partition');
  });

  it('S397: whose sign of life got lost with the home are confirmed with the next one: nothing of it is left behind', async () => {
    const { fleet, first } = await led();
    const { home } = fleet;
    assert.ok(home !== undefined);
    first.alive();
    await fleet.stage.pass(100);
    assert.deepEqual(first.take(), ['kept']);
    fleet.kill(home);
    for (let second = 0; second < 6; second += 1) {
      first.alive();
      await fleet.stage.pass(1_000);
    }
    await fleet.stage.until(() => fleet.home !== undefined);
    await fleet.stage.pass(3_000);
    first.alive();
    await fleet.stage.pass(100);
    const kept = first.take().filter((one) => one === 'kept').length;
    assert.equal(kept, 7, 'one for each that was said');
  });

  it('that die with the home are succeeded after their ttl, and not before', async () => {
    const { fleet, first, second } = await led();
    const { home } = fleet;
    assert.ok(home !== undefined);
    first.candidacy.close();
    fleet.kill(home);
    await fleet.stage.until(() => fleet.home !== undefined);
    const waited = await fleet.stage.until(() => second.told.includes('inaugurate'));
    assert.ok(waited >= TTL - 100 && waited < TTL + 500, `${waited} ms after the next home was open`);
  });

  it('notice nothing of a planned hand-over, and are not asked to hand over', async () => {
    const { fleet, gateway, first, second, term } = await led();
    const { home } = fleet;
    assert.ok(home !== undefined);
    const leaving = fleet.leave(home);
    await first.live(4_000);
    await leaving;
    await first.live(8_000);
    assert.notEqual(fleet.home, home);
    assert.equal(first.term, term);
    assert.deepEqual(new Set(first.take()), new Set(['kept']));
    assert.deepEqual(second.take(), [], 'its place has not changed');
    await leads(gateway, first);
  });

  it('keep their term when the last member goes, too', async () => {
    const { fleet, first, term } = await led();
    for (const started of [fleet.home, undefined]) {
      const home = started ?? fleet.home;
      assert.ok(home !== undefined);
      await Promise.all([fleet.leave(home), first.live(3_000)]);
    }
    await fleet.member('c');
    await first.live(4_000);
    assert.equal(first.term, term);
    assert.ok(!first.take().some((one) => one === 'handOver' || one === 'lost'));
  });

  it('that come back at another gateway within their ttl, with their term, keep it: clocks of gateways say nothing', async () => {
    const { fleet, gateway, first, second, term } = await led();
    gateway.kill();
    await fleet.stage.pass(2_000);
    const other = fleet.gateway();
    const again = other.stand('first', term);
    const waiting = other.stand('second');
    await again.live(10_000);
    assert.deepEqual([again.term, new Set(again.take())], [term, new Set(['execute', 'kept'])]);
    assert.ok(!waiting.take().includes('inaugurate'));
    await leads(other, again);
    assert.deepEqual([first.take(), second.take()], [[], []]);
  });

  it('that come back too late are told that they have lost it', async () => {
    const { fleet, gateway, first, term } = await led();
    gateway.kill();
    const other = fleet.gateway();
    const waiting = other.stand('third');
    await fleet.stage.until(() => waiting.told.includes('inaugurate'));
    const again = other.stand('first', term);
    await fleet.stage.pass(100);
    assert.deepEqual(again.take(), ['lost']);
    assert.ok(waiting.term > first.term);
  });

  it('keep it when home and gateway die in the same moment', async () => {
    const { fleet, gateway, term } = await led();
    const { home } = fleet;
    assert.ok(home !== undefined);
    fleet.kill(home);
    gateway.kill();
    await fleet.stage.until(() => fleet.home !== undefined);
    const other = fleet.gateway();
    const waiting = other.stand('second');
    await fleet.stage.pass(2_000);
    const again = other.stand('first', term);
    await again.live(8_000);
    assert.equal(again.term, term);
    assert.ok(!waiting.take().includes('inaugurate'));
  });

  it('a home that was stopped for long tells nobody that it lives, or leads', async () => {
    const { fleet, first, second, term } = await led();
    const { home } = fleet;
    assert.ok(home !== undefined);
    const old = home.member.home(fleet.partition);
    assert.ok(old !== undefined);
    const thaw = fleet.freeze(home);
    first.candidacy.close();
    await fleet.stage.until(() => fleet.home !== undefined);
    await fleet.stage.until(() => second.told.includes('inaugurate'), 30_000);
    // The first thing that runs there is a message that came over a link while it was stopped.
    const answers: string[] = [];
    const reply = (what: string) => ({
      answer: () => answers.push(what) > 0,
      refuse: ({ kind }: { readonly kind: string }) => void answers.push(`${what} ${kind}`),
    });
    old.leaders.report({ group: 'backup', term, report: { kind: 'alive' } }, reply('alive'));
    old.leaders.awaitLeader({ group: 'backup', knows: undefined }, reply('who'));
    thaw();
    await fleet.stage.pass(2_000);
    assert.deepEqual(answers, ['alive no_home', 'who no_home']);
  });

  it('an operator asks them by way of any sidecar', async () => {
    const { fleet, first, second, term } = await led();
    assert.deepEqual(await fleet.gateway().operatorYields(), { asked: { candidateId: 'first', term } });
    await fleet.stage.pass(100);
    assert.deepEqual(first.take(), ['handOver']);
    first.handOver('');
    await fleet.stage.pass(100);
    assert.deepEqual([first.take(), second.take()], [['released', 'standing 1'], ['inaugurate']]);
  });

  it('candidates who wait for a home are many, and take no place from calls of workers', async () => {
    const fleet = new Fleet();
    const gateway = fleet.gateway();
    const all = Array.from({ length: 10_000 }, (_, number) => gateway.stand(`c${number}`));
    const call = { refusals: [] as string[] };
    const queue = Array.from({ length: 100 }, (_, number) => `q${number}`).find(
      (name) => fleet.map.of(name, '') === fleet.partition,
    );
    assert.ok(queue !== undefined);
    gateway.coordinator.awaitItem(
      { queue, itemId: 'i', wait: 0 },
      { answer: () => true, refuse: ({ kind }) => void call.refusals.push(kind) },
    );
    await fleet.stage.pass(100);
    assert.deepEqual(call.refusals, []);
    await fleet.member('a');
    await fleet.stage.pass(500);
    assert.ok(all.some(({ told }) => told.includes('inaugurate')));
  });
});
