import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Tokens } from '../../../src/core/structures/tokens.js';

const NOW = Date.UTC(2026, 6, 1);

describe('tokens', () => {
  it('grow by one, turn by turn, and stay below 2^53', () => {
    const tokens = new Tokens(NOW);
    const given = [tokens.next(), tokens.next(), tokens.next()];
    assert.deepEqual(given, [tokens.first, tokens.first + 1, tokens.first + 2]);
    assert.ok(given.every(Number.isSafeInteger));
  });

  // S28: it outlives restarts as long as the clock does not step back by more than the last run lasted, less the
  // 1/4,096 ms per turn that run gave.
  const restarts: readonly { what: string; turns: number; lasted: number; steppedBack: number }[] = [
    { what: 'at once', turns: 4_095, lasted: 1, steppedBack: 0 },
    { what: 'after a quiet second', turns: 1, lasted: 1_000, steppedBack: 0 },
    { what: 'with the clock back by a little less than the run lasted', turns: 1, lasted: 60_000, steppedBack: 59_999 },
    { what: 'after a busy minute, the clock back by half', turns: 120_000, lasted: 60_000, steppedBack: 30_000 },
    { what: 'as many turns a ms as there are tokens', turns: 409_600, lasted: 100, steppedBack: 0 },
  ];
  for (const { what, turns, lasted, steppedBack } of restarts) {
    it(`S28, I5: go on growing across a restart ${what}`, () => {
      const before = new Tokens(NOW);
      let last = 0;
      for (let i = 0; i < turns; i++) last = before.next();
      const first = new Tokens(NOW + lasted - steppedBack).next();
      assert.ok(first > last, `${first} after ${last}`);
    });
  }

  it('S28: do not promise it when the clock stepped back by more than the run lasted', () => {
    const last = new Tokens(NOW).next();
    assert.ok(new Tokens(NOW - 1).next() < last);
  });

  it('begin at 1 for a clock before 2025: never zero, never negative', () => {
    for (const wall of [0, -1, Date.UTC(1999, 0, 1), Date.UTC(2025, 0, 1)]) assert.equal(new Tokens(wall).next(), 1);
  });

  it('take a fraction of a ms as none', () => assert.equal(new Tokens(NOW + 0.999).first, new Tokens(NOW).first));

  it('I5: begin at the floor, if that is beyond the clock', () => {
    const { first } = new Tokens(NOW);
    assert.deepEqual([new Tokens(NOW, first + 5).next(), new Tokens(NOW, first - 5).next()], [first + 5, first]);
  });

  it('I5: are reserved far ahead, once more when half of that is used, and never beyond', () => {
    const tokens = new Tokens(NOW);
    const reserved: number[] = [];
    tokens.reserveBy(() => reserved.push(tokens.reserved));
    for (let i = 0; i < 2 ** 24; i++) {
      const token = tokens.next();
      if (token >= (reserved.at(-1) ?? 0)) assert.fail(`${token} is not reserved`);
    }
    assert.deepEqual(
      reserved.map((floor) => (floor - tokens.first) / 2 ** 23),
      [2 - 2 ** -23, 3 - 2 ** -23, 4 - 2 ** -23],
    );
  });

  it('I5: are used up where nothing more was written down, and go on from there when it was', () => {
    const tokens = new Tokens(NOW, 1, 4);
    tokens.reserveBy(() => undefined);
    const floor = tokens.reserved;
    const given: number[] = [];
    while (!tokens.areUsedUp) given.push(tokens.next());
    assert.ok(given.every((token) => token < floor));
    assert.equal(given.length, 3);
    assert.equal(tokens.written(floor), false, 'that is known');
    assert.equal(tokens.written(floor - 1), false, 'what is written late takes nothing back');
    assert.equal(tokens.written(tokens.reserved), true);
    assert.equal(tokens.next(), floor);
  });

  it('S270: of a partition are those with its remainder, each once, and grow', () => {
    for (const of of [1, 2, 64, 256]) {
      const given = new Set<number>();
      for (const number of new Set([0, 1 % of, of >> 1, of - 1])) {
        const tokens = new Tokens(NOW, 1, undefined, { number, of });
        assert.ok(tokens.first >= new Tokens(NOW).first && tokens.first < new Tokens(NOW).first + of);
        for (let i = 0; i < 100; i++) {
          const token = tokens.next();
          assert.equal(token % of, number);
          assert.equal(token, tokens.first + i * of);
          assert.ok(!given.has(token));
          given.add(token);
        }
      }
    }
  });

  it('S270: of a partition begin at the floor or behind it, and never at zero', () => {
    const { first } = new Tokens(NOW, 1, undefined, { number: 5, of: 8 });
    const from = (floor: number) => new Tokens(NOW, floor, undefined, { number: 5, of: 8 }).next();
    assert.deepEqual(
      [from(first), from(first + 1), from(first + 8), from(first - 8)],
      [first, first + 8, first + 8, first],
    );
    assert.equal(new Tokens(0, 1, undefined, { number: 0, of: 64 }).next(), 64);
    assert.equal(new Tokens(0, 1, undefined, { number: 3, of: 64 }).next(), 3);
  });

  it('S53, S270: of a partition are given as far as they are written down, and no further', () => {
    const tokens = new Tokens(NOW, 1, 4, { number: 3, of: 64 });
    const marks: number[] = [];
    tokens.reserveBy(() => marks.push(tokens.reserved));
    const floor = tokens.reserved;
    const given: number[] = [];
    while (!tokens.areUsedUp) given.push(tokens.next());
    assert.equal(given.length, 3);
    assert.ok(given.every((token) => token < floor));
    assert.equal(tokens.written(tokens.reserved), true);
    assert.ok(tokens.next() >= floor);
    assert.ok(new Tokens(NOW, floor, 4, { number: 3, of: 64 }).next() > (given.at(-1) ?? 0));
  });

  it('S270: of a partition are reserved few at first, twice as many after each half that was used, and never beyond', () => {
    const of = 64;
    const tokens = new Tokens(NOW, 1, undefined, { number: 3, of });
    const reserved: number[] = [];
    tokens.reserveBy(() => {
      reserved.push(tokens.reserved);
      tokens.written(tokens.reserved);
    });
    for (let i = 0; i < 2 ** 19; i++) {
      assert.ok(!tokens.areUsedUp);
      const token = tokens.next();
      if (token >= (reserved.at(-1) ?? 0)) assert.fail(`${token} is not reserved`);
    }
    const ahead = [16_384, 32_768, 65_536, 131_072, ...Array<number>(4).fill(262_144)];
    const used = [0, 8_192, 24_576, 57_344, 122_880, 253_952, 385_024, 516_096];
    assert.deepEqual(
      reserved.map((floor) => (floor - tokens.first) / of + 1),
      ahead.map((more, at) => more + (used[at] ?? 0)),
    );
  });

  it('S521: may be wanted many at once: what is not reserved is, and may be given then', () => {
    const tokens = new Tokens(NOW, 1, undefined, { number: 3, of: 64 });
    let marks = 0;
    tokens.reserveBy(() => {
      marks += 1;
    });
    assert.deepEqual([tokens.mayGive(16_383), tokens.mayGive(16_384), marks], [true, false, 2]);
    assert.equal(tokens.reserved, tokens.last + 32_768 * 64);
    tokens.written(tokens.reserved);
    assert.deepEqual([tokens.mayGive(32_767), tokens.mayGive(32_768)], [true, false]);
  });

  // S270: what a home reserved is the floor of each claim after it, also where a store that fell back lost one of them.
  const lostClaims: readonly { of: number; given: number; between: number }[] = [
    { of: 8, given: 1, between: 129 },
    { of: 64, given: 1, between: 257 },
    { of: 64, given: 8_191, between: 684 },
    { of: 64, given: 200_000, between: 16_667 },
    { of: 256, given: 1, between: 257 },
    { of: 256, given: 2_047, between: 683 },
    { of: 4_096, given: 1, between: 4_097 },
  ];
  for (const { of, given, between } of lostClaims) {
    it(`I5: grow over a claim that a store lost, ${between} ms and ${given} turns after the one before, with ${of} partitions`, () => {
      const partition = { number: of - 1, of };
      const turnsOf = (at: number, floor: number) => {
        const tokens = new Tokens(NOW + at * between, floor, undefined, partition);
        tokens.reserveBy(() => undefined);
        let last = 0;
        for (let i = 0; i < given; i++) last = tokens.next();
        return { first: tokens.first, last, floor: tokens.reserved };
      };
      const kept = turnsOf(0, 1);
      const lost = [turnsOf(1, kept.floor), turnsOf(2, kept.floor)];
      const now = turnsOf(3, kept.floor);
      assert.ok(lost.every(({ first }) => first > kept.last));
      assert.ok((lost[1]?.first ?? 0) > (lost[0]?.last ?? 0) && now.first > (lost[1]?.last ?? 0));
    });
  }

  it('S270: of which many were used reserve few again when they jump ahead with the clock, and never less than before', () => {
    const partition = { number: 3, of: 64 };
    const tokens = new Tokens(NOW, 1, undefined, partition);
    tokens.reserveBy(() => tokens.written(tokens.reserved));
    for (let i = 0; i < 2 ** 18; i++) tokens.next();
    const many = tokens.reserved;
    tokens.raiseAbove(tokens.last + 64_000);
    assert.equal(tokens.reserved, many, 'that floor may be written');
    const later = NOW + 60_000;
    tokens.raise(later);
    assert.ok(tokens.reserved <= new Tokens(later, 1, undefined, partition).first + 16_384 * 64);
    const lost = new Tokens(later + 300, tokens.reserved, undefined, partition);
    assert.ok(new Tokens(later + 600, tokens.reserved, undefined, partition).first > lost.first);
  });

  it('S29, S270: of another partition were never given here', () => {
    const tokens = new Tokens(NOW, 1, undefined, { number: 3, of: 64 });
    const { first } = tokens;
    const answers = [first - 64, first - 63, first - 1, first, 3, 67, 0, -61].map((token) =>
      tokens.mayBeEarlier(token),
    );
    assert.deepEqual(answers, [true, false, false, false, true, true, false, false]);
  });

  it('S234, S270: go on above what the clock allowed others meanwhile, and are written down before', () => {
    const tokens = new Tokens(NOW, 1, 4, { number: 3, of: 64 });
    tokens.reserveBy(() => undefined);
    tokens.written(tokens.reserved);
    const before = tokens.next();
    const other = new Tokens(NOW + 5_000, 1, 4, { number: 3, of: 64 }).next();
    tokens.raise(NOW + 5_001);
    assert.equal(tokens.areUsedUp, true);
    tokens.written(tokens.reserved);
    const after = tokens.next();
    assert.ok(after > other && after > before && after % 64 === 3);
    tokens.raise(NOW);
    assert.equal(tokens.next(), after + 64);
  });

  it('know no partition that there cannot be', () => {
    for (const partition of [
      { number: 64, of: 64 },
      { number: -1, of: 64 },
      { number: 0.5, of: 64 },
      { number: 0, of: 0 },
      { number: 0, of: 8_192 },
    ])
      assert.throws(() => new Tokens(NOW, 1, undefined, partition), /must be one of 0 to of - 1/);
  });

  it('last until the year 2094, and say so beyond it', () => {
    assert.ok(new Tokens(Date.UTC(2094, 0, 1)).next() < 2 ** 53);
    assert.throws(() => new Tokens(Date.UTC(2095, 0, 1)), /beyond the year 2094/);
    assert.throws(() => new Tokens(Number.NaN), RangeError);
  });
});
