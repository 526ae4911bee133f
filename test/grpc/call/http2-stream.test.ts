/** Node shows neither of these: where it keeps them elsewhere one day, calls must go on. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { http2StreamOf, readingOf } from '../../../src/grpc/call/http2-stream.js';

type Session = Parameters<typeof readingOf>[0];

/** Only what is looked at. */
function session(socket: () => object, destroyed = false): Session {
  const fake = {
    destroyed,
    get socket() {
      return socket();
    },
  };
  return fake as unknown as Session;
}

function readBy(...args: Parameters<typeof session>): void {
  const reading = readingOf(session(...args));
  reading.stop();
  reading.go();
}

test('the handle of the socket is told to stop reading, and to go on', () => {
  const told: string[] = [];
  const handle = {
    name: 'handle',
    readStop(): void {
      told.push(`${this.name} stop`);
    },
    readStart(): void {
      told.push(`${this.name} go`);
    },
  };
  readBy(() => ({ _handle: handle }));
  assert.deepEqual(told, ['handle stop', 'handle go']);
});

for (const [what, socket] of Object.entries({
  'no handle': {},
  'a handle that is gone': { _handle: null },
  'a handle that is something else': { _handle: 'handle' },
  'a handle without these methods': { _handle: { readStop: true } },
}))
  test(`a socket with ${what} is read as ever`, () => readBy(() => socket));

test('the socket of a session that is gone is not asked for: Node would throw', () => {
  readBy(() => assert.fail('asked for'), true);
});

test('a call without a stream of HTTP/2 below it has none', () => {
  assert.equal(http2StreamOf({}), undefined);
  assert.equal(http2StreamOf({ call: { nextCall: { stream: { close: () => {} } } } }), undefined);
});
