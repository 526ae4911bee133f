/** `npm start`: npm passes signals on that the process has received already. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { drainOnSignals } from '../../src/cli/serve/shutdown.js';
import { read } from '../project/repository.js';

/** Signal handlers of a sidecar that drains until the test ends, with a clock of the test. */
function draining(t: TestContext) {
  const [on, own] = [process.on.bind(process), new Map<string, () => void>()];
  t.mock.method(process, 'on', (event: NodeJS.Signals, listener: () => void) => {
    own.set(event, listener);
    return on(event, listener);
  });
  t.after(() => {
    for (const [event, listener] of own) process.off(event, listener);
  });
  t.mock.method(process, 'exit', (code: number) => {
    throw new Error(`exit ${code}`);
  });
  const clock = { now: 0 };
  t.mock.method(performance, 'now', () => clock.now);
  const drains: number[] = [];
  const sidecar = {
    grpc: '',
    http: '',
    console: undefined,
    ready: Promise.resolve(),
    drain: (timeout: number) => new Promise<never>(() => drains.push(timeout)),
    stop: async () => {},
    end: () => ({ liveTurns: 1, waitingItems: 0, deadLetters: 0 }),
  };
  drainOnSignals(sidecar, { log: pino({ level: 'silent' }), timeout: 30_000 });
  return { clock, drains };
}

/** As `npm run` of this script sets it; undefined: without npm. */
function underNpm(t: TestContext, script: string | undefined): void {
  const set = (value: string | undefined) => {
    if (value === undefined) delete process.env['npm_lifecycle_event'];
    else process.env['npm_lifecycle_event'] = value;
  };
  const before = process.env['npm_lifecycle_event'];
  t.after(() => set(before));
  set(script);
}

test('one Ctrl-C that arrives twice drains, and does not end it now', (t) => {
  underNpm(t, 'start');
  const { clock, drains } = draining(t);
  process.emit('SIGINT', 'SIGINT');
  clock.now = 499;
  process.emit('SIGINT', 'SIGINT');
  assert.deepEqual(drains, [30_000]);
});

for (const [what, second, at, exit] of [
  ['a second Ctrl-C, later', 'SIGINT', 500, /^Error: exit 130$/],
  ['another signal', 'SIGTERM', 1, /^Error: exit 143$/],
] as const)
  test(`${what}, ends it now`, (t) => {
    underNpm(t, 'start');
    const { clock } = draining(t);
    process.emit('SIGINT', 'SIGINT');
    clock.now = at;
    assert.throws(() => process.emit(second, second), exit);
  });

test('without npm a second signal ends it now, however soon', (t) => {
  underNpm(t, undefined);
  draining(t);
  process.emit('SIGINT', 'SIGINT');
  assert.throws(() => process.emit('SIGINT', 'SIGINT'), /^Error: exit 130$/);
});

test('npm passes signals on to the sidecar itself, not to a shell that would leave it behind', () => {
  assert.match(read('package.json').text, /"start": "exec node /);
});
