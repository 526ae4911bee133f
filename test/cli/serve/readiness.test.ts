/** What the sidecar says of itself while its data is brought back and when its disk fails. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { Readiness } from '../../../src/cli/serve/readiness.js';

function setUp() {
  const lines: string[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line: string) => void lines.push(line) });
  const told: boolean[] = [];
  const readiness = new Readiness(log, (isReady) => told.push(isReady));
  const messages = () => lines.map((line) => String(JSON.parse(line).msg));
  return { readiness, told, messages };
}

test('it is not ready before it listens and its data is back, and says how far that is', () => {
  const { readiness, told, messages } = setUp();
  assert.equal(readiness.notReady, 'starting');
  readiness.storeChanged({ at: 'recovering', rows: 0, of: 200 });
  readiness.listening();
  assert.equal(readiness.notReady, 'recovering 0 %');
  readiness.storeChanged({ at: 'recovering', rows: 84, of: 200 });
  assert.equal(readiness.notReady, 'recovering 42 %');
  readiness.storeChanged({ at: 'recovering', rows: 200, of: 200 });
  assert.ok(told.every((isReady) => !isReady));
  readiness.storeChanged({ at: 'ready' });
  assert.equal(readiness.notReady, undefined);
  assert.equal(told.at(-1), true);
  assert.deepEqual(messages(), ['recovering', 'recovered']);
});

test('a new directory is ready, too, when that is said', () => {
  const { readiness, messages } = setUp();
  readiness.storeChanged({ at: 'recovering', rows: 0, of: 0 });
  readiness.listening();
  readiness.storeChanged({ at: 'ready' });
  assert.equal(readiness.notReady, undefined);
  assert.deepEqual(messages(), ['recovered']);
});

test('a disk that fails turns it, and turns it back; both are logged', () => {
  const { readiness, told, messages } = setUp();
  readiness.listening();
  readiness.storeChanged({ at: 'failing', reason: 'no room to write /data/data.mdb' });
  assert.equal(readiness.notReady, 'no room to write /data/data.mdb');
  readiness.storeChanged({ at: 'unreadable', queue: 'q', key: 'k', reason: 'damaged' });
  assert.equal(told.at(-1), false, 'what cannot be read of one key changes nothing for the others');
  readiness.storeChanged({ at: 'ready' });
  assert.equal(told.at(-1), true);
  assert.equal(messages().length, 3);
  readiness.draining();
  assert.equal(readiness.notReady, 'draining');
  readiness.storeChanged({ at: 'ready' });
  assert.equal(told.at(-1), false, 'draining is for good');
});

test('what could not be written at the end is said', () => {
  const { readiness, messages } = setUp();
  readiness.storeChanged({ at: 'closed', unwritten: 0, problem: undefined });
  readiness.storeChanged({ at: 'closed', unwritten: 7, problem: undefined });
  assert.deepEqual(messages(), ['stopped without having written the last changes']);
});
