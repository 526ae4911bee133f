/** What a server sends is not trusted: whatever it is, it is an answer or an error, and costs no more than its bytes. */
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Frames } from '../../../src/cluster/zookeeper/frames.js';
import { JuteError, JuteReader, JuteWriter } from '../../../src/cluster/zookeeper/jute.js';
import {
  check,
  create,
  EVERYBODY,
  getChildren,
  getData,
  multi,
  type Request,
  readWelcome,
  remove,
  setData,
  sync,
} from '../../../src/cluster/zookeeper/requests.js';
import { runsOf } from '../../support/runs.js';

const NONE = Buffer.alloc(0);
const REQUESTS: readonly Request<unknown>[] = [
  create({ path: '/a', data: NONE, acl: EVERYBODY }),
  remove('/a'),
  setData('/a', NONE),
  getData('/a', true),
  getChildren('/a'),
  sync('/a'),
  multi([check('/a'), setData('/a', NONE), create({ path: '/b', data: NONE, acl: EVERYBODY })]),
];

function framed(...bodies: readonly Buffer[]): Buffer {
  return Buffer.concat(
    bodies.flatMap((body) => {
      const head = Buffer.alloc(4);
      head.writeInt32BE(body.length);
      return [head, body];
    }),
  );
}

/** In pieces that end where the numbers say. */
function cut(bytes: Buffer, ends: readonly number[]): readonly Buffer[] {
  const at = [...new Set([0, ...ends.map((end) => end % (bytes.length + 1)), bytes.length])].sort((a, b) => a - b);
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
}

describe('frames', () => {
  it('are the same wherever what comes in is cut', () => {
    const body = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes));
    fc.assert(
      fc.property(fc.array(body, { maxLength: 8 }), fc.array(fc.nat()), (bodies, ends) => {
        const frames = new Frames();
        const found = cut(framed(...bodies), ends).flatMap((piece) => [...frames.take(piece)]);
        assert.deepEqual(found, bodies);
      }),
      { numRuns: runsOf(200) },
    );
  });

  it('of a length that none has are refused before anything is kept for them', () => {
    for (const length of [-1, -2_147_483_648, 4 * 1_024 * 1_024 + 1, 2_147_483_647]) {
      const head = Buffer.alloc(4);
      head.writeInt32BE(length);
      assert.throws(() => [...new Frames().take(head)], JuteError);
    }
  });
});

describe('an answer', () => {
  const bytes = fc.uint8Array({ maxLength: 200 }).map((found) => Buffer.from(found));
  // Numbers as a server writes them, so that more than the first of them is read.
  const likely = fc
    .array(fc.oneof(fc.constantFrom(-1, 0, 1, 2, 5, 13, 14, 2_147_483_647, -2_147_483_648), fc.integer()), {
      maxLength: 40,
    })
    .map((numbers) =>
      numbers
        .reduce((to, number) => to.int(number), new JuteWriter())
        .frame()
        .subarray(4),
    );

  it('of whatever bytes is read, or is an error', () => {
    fc.assert(
      fc.property(fc.oneof(bytes, likely), (found) => {
        for (const read of [...REQUESTS.map((request) => request.read), readWelcome]) {
          const from = new JuteReader(found);
          try {
            read(from);
          } catch (error) {
            assert.ok(error instanceof JuteError, String(error));
          }
          assert.ok(from.left >= 0);
        }
      }),
      { numRuns: runsOf(2_000) },
    );
  });

  it('that says how long a list is gets no room for it before it is there', () => {
    const huge = new JuteWriter().int(2_147_483_647).frame().subarray(4);
    assert.throws(() => getChildren('/a').read(new JuteReader(huge)), /a list of 2147483647 in 0 bytes/);
    assert.throws(() => getData('/a').read(new JuteReader(huge)), /2147483647 bytes are to be read, and 0 are left/);
  });

  it('to several operations has to be about all of them', () => {
    const end = (to: JuteWriter) => to.int(-1).bool(true).int(-1).frame().subarray(4);
    const read = (to: JuteWriter) => multi([check('/a'), check('/b')]).read(new JuteReader(end(to)));
    const done = (to: JuteWriter) => to.int(13).bool(false).int(0);
    const failed = (to: JuteWriter, code: number) => to.int(-1).bool(false).int(code).int(code);
    assert.deepEqual(read(done(done(new JuteWriter()))), []);
    assert.deepEqual(read(failed(failed(new JuteWriter(), 0), -101)), [0, -101]);
    assert.throws(() => read(done(new JuteWriter())), JuteError);
    assert.throws(() => read(failed(done(new JuteWriter()), -101)), JuteError);
    assert.throws(() => read(done(done(done(new JuteWriter())))), JuteError);
    assert.throws(() => read(new JuteWriter().int(5).bool(false).int(0)), JuteError);
  });
});
