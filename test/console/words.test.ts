/** What the page of the console says and understands, apart from any browser. */
import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { describe, it } from 'node:test';
import { narrowed } from '../../console/wire/clock.js';
import { Frames } from '../../console/wire/stream.js';
import { groupsOf } from '../../console/words/causes.js';
import { piecesOf, plainName } from '../../console/words/names.js';
import { bytesOf, hexOf, payloadOf } from '../../console/words/payload.js';
import { hrefOf, routeOf } from '../../console/words/route.js';
import { soughtBy } from '../../console/words/search.js';
import { sentenceOf } from '../../console/words/sentence.js';
import { ageOf, lengthOf, momentOf, msOf } from '../../console/words/times.js';
import { troubleOf } from '../../console/words/trouble.js';

describe('a name', () => {
  const CASES: readonly (readonly [name: string, shown: string])[] = [
    ['customer-7', 'customer-7'],
    ['', '(no key)'],
    ['👩‍👩‍👧 family', '👩‍👩‍👧 family'],
    ['👍🏽 ok', '👍🏽 ok'],
    ['a‍b', 'a‹U+200D›b'],
    ['photo\u202egpj.exe', 'photo‹U+202E›gpj.exe'],
    ['a\u0000b\u001b[31m', 'a‹U+0000›b‹U+001B›[31m'],
    ['line\nnext\u2028next', 'line‹U+000A›next‹U+2028›next'],
    ['pay\u200bload\ufeff', 'pay‹U+200B›load‹U+FEFF›'],
    ['non\u00a0breaking', 'non‹U+00A0›breaking'],
    [' a  b ', '‹␣›a ‹␣›b‹␣›'],
    ['\u{e0041}tag', '‹U+E0041›tag'],
    ['שלום', 'שלום'],
    ['half\ud800', 'half‹U+D800›'],
  ];
  for (const [name, shown] of CASES) {
    it(`${JSON.stringify(name)} is shown as ${JSON.stringify(shown)}`, () => strictEqual(plainName(name), shown));
  }

  it('is looked at in time that grows with its length alone', () => {
    const began = performance.now();
    piecesOf('👩‍'.repeat(20_000) + ' '.repeat(20_000));
    strictEqual(performance.now() - began < 2_000, true);
  });
});

describe('a length of time', () => {
  const CASES: readonly (readonly [ms: number, shown: string])[] = [
    [-5, '0 ms'],
    [12, '12 ms'],
    [1_250, '1.2 s'],
    [59_900, '59 s'],
    [60_000, '1 min'],
    [200_000, '3 min 20 s'],
    [3_600_000, '1 h'],
    [90_061_000, '1 d 1 h'],
  ];
  for (const [ms, shown] of CASES) it(`${ms} ms is ${shown}`, () => strictEqual(lengthOf(ms), shown));

  it('as an age it has no fractions, which would move all the time', () => strictEqual(ageOf(1_900), '1 s'));
  it('of JSON is read, and what is none is none', () => {
    deepStrictEqual(['1.5s', '300s', undefined, '5m', ''].map(msOf), [1_500, 300_000, undefined, undefined, undefined]);
    deepStrictEqual(
      [momentOf('2026-01-01T00:00:00Z'), momentOf(undefined), momentOf('never')],
      [1_767_225_600_000, undefined, undefined],
    );
  });
});

describe('the clock of the sidecar', () => {
  it('is narrowed by every date that it says', () => {
    const first = narrowed(undefined, 10_000, 5_000, 5_100);
    deepStrictEqual(first, { least: 4_900, most: 5_999 });
    deepStrictEqual(narrowed(first, 11_000, 5_500, 5_600), { least: 5_400, most: 5_999 });
  });
  it('is learned anew when a date does not fit: a clock was set', () => {
    deepStrictEqual(narrowed({ least: 0, most: 10 }, 100_000, 0, 50), { least: 99_950, most: 100_999 });
  });
});

describe('a stream', () => {
  const frame = (flags: number, text: string): Uint8Array => {
    const body = Buffer.from(text);
    return Buffer.concat([Buffer.from([flags, 0, 0, 0, body.length]), body]);
  };
  const all = Buffer.concat([frame(0, '{"missed":"3"}'), frame(0, '{"missed":"é"}'), frame(2, '{}')]);

  it('has the same messages in pieces of any size', () => {
    const expected = new Frames().push(all);
    deepStrictEqual(expected, [
      { isLast: false, said: { missed: '3' } },
      { isLast: false, said: { missed: 'é' } },
      { isLast: true, said: {} },
    ]);
    for (let size = 1; size < all.length; size += 1) {
      const frames = new Frames();
      const got = [];
      for (let at = 0; at < all.length; at += size) got.push(...frames.push(all.subarray(at, at + size)));
      deepStrictEqual(got, expected, `pieces of ${size}`);
    }
  });
  it('of something else is refused, however long it says a message is', () => {
    for (const head of [
      [1, 0, 0, 0, 1, 0],
      [0, 255, 255, 255, 255],
    ]) {
      let said = '';
      try {
        new Frames().push(Buffer.from(head));
      } catch (error) {
        said = String(error);
      }
      strictEqual(said, 'CallError: the stream of events is not one of the sidecar');
    }
  });
});

describe('an address', () => {
  for (const key of ['..', '../../x', 'a/b?c#d', '%00', 'a&key=b', 'é👩‍👩‍👧', '']) {
    it(`carries the key ${JSON.stringify(key)} there and back`, () => {
      const { page, words } = routeOf(hrefOf('key', { queue: 'q', key }));
      deepStrictEqual([page, words.get('queue'), words.get('key')], ['key', 'q', key]);
    });
  }
  it('of a page that there is not is none', () => strictEqual(routeOf('/nothing').page, undefined));
});

describe('what is typed into the search box', () => {
  const CASES: readonly (readonly [text: string, current: string | undefined, pairs: readonly string[]])[] = [
    ['orders', undefined, []],
    ['orders customer-7', undefined, ['orders|customer-7']],
    ['  orders   two words ', undefined, ['orders|two words']],
    ['customer-7', 'orders', ['orders|customer-7']],
    ['two words', 'orders', ['two|words', 'orders|two words']],
    ['orders customer-7', 'orders', ['orders|customer-7']],
    [' ', 'orders', []],
  ];
  for (const [text, current, pairs] of CASES) {
    it(`${JSON.stringify(text)} while ${current ?? 'no queue'} is looked at`, () => {
      deepStrictEqual(
        soughtBy(text, current).pairs.map(({ queue, rest }) => `${queue}|${rest}`),
        pairs,
      );
    });
  }
});

describe('why a key does not move, in a sentence', () => {
  const CASES: readonly (readonly [state: string, why: string | undefined, sentence: string])[] = [
    ['LANE_STATE_INIT', undefined, 'Nothing is wrong: nobody works on it, and nobody waits.'],
    ['LANE_STATE_READY', '', 'Nothing holds it: it moves.'],
    ['LANE_STATE_READY', 'no worker has acquired it yet', 'No worker has acquired it yet.'],
    [
      'LANE_STATE_BLOCK',
      'worker-1 holds it and its session "s" is broken',
      'worker-1 holds it and its session "s" is broken.',
    ],
  ];
  for (const [state, why, sentence] of CASES) it(sentence, () => strictEqual(sentenceOf(state, why), sentence));
});

describe('a queue is stuck', () => {
  const states = [
    { state: 'LANE_STATE_PARK', count: 2 },
    { state: 'LANE_STATE_READY', count: 1 },
  ] as const;
  it('when a key is parked, somebody waits for long, a person paused it, or there are dead letters', () => {
    const queue = { name: 'q', states, paused: true, oldestWaiting: '70s', deadLetters: 1 };
    deepStrictEqual(troubleOf(queue)?.what, [
      '2 keys parked',
      'paused by a person',
      'somebody waits since 1 min 10 s',
      '1 dead letter',
    ]);
  });
  it('and not for those that wait for their time beside dead letters', () => {
    const queue = { name: 'q', states: [{ state: 'LANE_STATE_DELAY', count: 2 }], oldestWaiting: '70s' } as const;
    deepStrictEqual(troubleOf({ ...queue, deadLetters: 1 })?.what, ['1 dead letter']);
    deepStrictEqual(troubleOf(queue)?.what, ['somebody waits since 1 min 10 s']);
  });
  it('and not when it works', () =>
    strictEqual(troubleOf({ name: 'q', oldestWaiting: '0.5s', waiting: 7 }), undefined));
});

describe('a payload', () => {
  const CASES: readonly (readonly [what: string, bytes: Buffer, kind: string])[] = [
    ['nothing', Buffer.alloc(0), 'empty'],
    ['an object', Buffer.from('{"a":[1]}'), 'json'],
    ['a number, which is text as well', Buffer.from('12'), 'text'],
    ['text', Buffer.from('line\nnext\t€'), 'text'],
    ['broken JSON', Buffer.from('{"a":'), 'text'],
    ['protobuf', Buffer.from([0x0a, 0x03, 0x61, 0x62, 0x00]), 'bytes'],
    ['what is no UTF-8', Buffer.from([0x61, 0xff]), 'bytes'],
    ['a PNG', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0]), 'image'],
    ['a WebP', Buffer.from('RIFF....WEBPVP8 '), 'image'],
    ['an SVG, which may have scripts', Buffer.from('<svg onload="x()"/>'), 'text'],
  ];
  for (const [what, bytes, kind] of CASES) {
    it(`of ${what} is shown as ${kind}`, () => strictEqual(payloadOf(bytesOf(bytes.toString('base64'))).kind, kind));
  }
  it('keeps numbers that a browser would round as they were written', () => {
    deepStrictEqual(payloadOf(Buffer.from('{"id":12345678901234567890}')), {
      kind: 'json',
      text: '{"id":12345678901234567890}',
    });
  });
  it('in hex has its bytes and what of them can be read', () => {
    strictEqual(hexOf(Buffer.from('A\u0000B'), 100), `000000  41 00 42${' '.repeat(39)}  A.B`);
  });
});

describe('dead letters', () => {
  it('are one group when their errors differ in numbers and ids alone', () => {
    const letters = ['order 12 is gone', 'order 7 is gone', 'no route to 0xff', 'order 9 is gone\nat line 3'].map(
      (lastError) => ({ cause: 'refused', lastError }),
    );
    deepStrictEqual(
      groupsOf(letters).map(({ cause, letters: own }) => [cause, own.length]),
      [
        ['refused: order # is gone', 3],
        ['refused: no route to #', 1],
      ],
    );
  });
});
