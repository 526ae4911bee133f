/** How long a call may wait so that its answer is out before its own deadline. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerWithin, consumerOf, endedByDeadline, isOver } from '../../../src/grpc/convert/deadline.js';

function caller(left: number, waiting = 0) {
  return { getPeer: () => '127.0.0.1:5', getDeadline: () => Date.now() + left, waiting };
}

const CASES = [
  { what: 'no deadline', left: Number.POSITIVE_INFINITY, waiting: 0, within: Number.POSITIVE_INFINITY },
  { what: 'a tenth of what is left before the deadline', left: 2_000, waiting: 0, within: 1_800 },
  { what: 'a tenth of little', left: 500, waiting: 0, within: 450 },
  { what: 'at least 20 ms before it', left: 100, waiting: 0, within: 80 },
  { what: 'at most a second before it', left: 60_000, waiting: 0, within: 59_000 },
  { what: 'half of what is left, if that is less', left: 30, waiting: 0, within: 15 },
  { what: 'half of very little', left: 1, waiting: 0, within: 0 },
  { what: 'a deadline that is over', left: -5, waiting: 0, within: 0 },
  { what: 'few calls wait', left: 10_000, waiting: 200, within: 9_000 },
  { what: 'more calls wait', left: 10_000, waiting: 300, within: 8_500 },
  { what: 'very many calls wait', left: 30_000, waiting: 100_000, within: 25_000 },
  { what: 'half, however many wait', left: 1_000, waiting: 100_000, within: 500 },
];

for (const { what, left, waiting, within } of CASES) {
  test(`answer within: ${what}`, () => {
    const found = answerWithin(caller(left, waiting));
    // The clock may move on between the two lines.
    assert.ok(found === within || (found < within && found > within - 1_000), `${found}, not ${within}`);
    assert.equal(Number.isInteger(found) || found === Number.POSITIVE_INFINITY, true);
  });
}

test('a Date is a deadline like a number', () => {
  const within = answerWithin({ getPeer: () => '', getDeadline: () => new Date(Date.now() + 60_000), waiting: 0 });
  assert.ok(within > 50_000 && within <= 59_000);
});

test('a deadline in the past is over, one in the future or none is not', () => {
  assert.deepEqual(
    [-1, 60_000, Number.POSITIVE_INFINITY].map((left) => isOver(caller(left))),
    [true, false, false],
  );
});

test('what ends shortly before our deadline was ended by that of the client; what ends long before, or has none, was not', () => {
  assert.deepEqual(
    [-1, 50, 60_000, Number.POSITIVE_INFINITY].map((left) => endedByDeadline(caller(left))),
    [true, true, false, false],
  );
});

test('who names nobody is named by the peer', () => {
  assert.equal(consumerOf('me', caller(1)), 'me');
  assert.equal(consumerOf('', caller(1)), '127.0.0.1:5');
  assert.equal(consumerOf('', { ...caller(1), getPeer: () => 'unknown' }), 'unix');
});
