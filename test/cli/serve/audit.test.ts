/** The audit as an operator finds it: lines on stderr. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { connect } from '@keyturn/client';
import { auditLines } from '../../../src/cli/serve/audit-lines.js';
import { yamlFile } from '../../config/yaml-file.js';
import { ServeProcess } from '../serve-process.js';

const TOKEN = 'kt_0123456789abcdef0123456789abcdef0123456789a';

test('who changed what stands on stderr, and who was not let in, without what they showed', async (t) => {
  const tokens = join(dirname(yamlFile(t, '')), 'tokens.yaml');
  writeFileSync(tokens, `ops: { sha256: ${createHash('sha256').update(TOKEN).digest('hex')} }\n`, { mode: 0o600 });
  const auth = `auth: { tokens: ${tokens}, rights: { ops: [{ queues: ['*'], may: [operate] }] } }`;
  const sidecar = await ServeProcess.start(t, ['--config', yamlFile(t, `${auth}\naudit: stderr\n`)]);
  const address = await sidecar.address('grpc');
  const ops = connect(address, { transport: 'unary', token: TOKEN });
  t.after(() => ops.close({ timeout: 0 }));
  await ops.admin.pauseQueue('orders');
  const stranger = connect(address, { transport: 'unary', token: `${TOKEN}x` });
  t.after(() => stranger.close({ timeout: 0 }));
  await assert.rejects(stranger.admin.pauseQueue('orders'), /UNAUTHENTICATED|NO_CREDENTIALS|token/);
  sidecar.signal('SIGTERM');
  await sidecar.exited;
  const lines = sidecar.lines.filter(({ audit }) => audit !== undefined);
  assert.deepEqual(
    lines.map(({ audit, who, call, outcome }) => ({ audit, who, call, outcome })),
    [
      { audit: 'call', who: 'ops', call: 'AdminService/PauseQueue', outcome: 'OK' },
      { audit: 'refused', who: undefined, call: '/keyturn.v1.AdminService/PauseQueue', outcome: 'UNAUTHENTICATED' },
    ],
  );
  assert.doesNotMatch(JSON.stringify(sidecar.lines), new RegExp(TOKEN));
});

test('of many that are refused one line a second says how many there were', () => {
  const written: string[] = [];
  let now = 0;
  const { refused } = auditLines((line) => written.push(line), { now: () => now, wall: () => 0 });
  const shown = { authorization: [], sans: [], isUnix: false, isPrivate: true };
  for (let at = 0; at < 100; at += 1) refused(shown, '10.0.0.1:2', '/keyturn.v1.AdminService/Discard', 'no\u2028token');
  now = 1_000;
  refused(shown, '10.0.0.1:2', '/keyturn.v1.AdminService/Discard', 'no token');
  assert.equal(written.length, 2);
  assert.equal(JSON.parse(written[1] ?? '').notShown, 99);
  assert.ok(written.every((line) => /^[^\u2028\n]*\n$/.test(line)));
});

describe('of what a principal may not do, and asks again and again,', () => {
  interface Line {
    readonly who: string;
    readonly outcome: string;
    readonly notShown?: number;
  }

  function audit() {
    const lines: Line[] = [];
    const clock = { time: 0, now: () => clock.time, wall: () => 0 };
    const { audited } = auditLines((line) => lines.push(JSON.parse(line)), clock);
    const ask = (who: string, outcome = 'PERMISSION_DENIED', times = 1) => {
      for (let at = 0; at < times; at += 1)
        audited({ who, from: '10.0.0.1:2', call: 'AdminService/Discard', asked: {}, outcome, told: 'no' });
    };
    return { lines, clock, ask };
  }

  for (const outcome of ['PERMISSION_DENIED', 'RESOURCE_EXHAUSTED', 'INVALID_ARGUMENT', 'NOT_FOUND'])
    test(`ten lines a second are written, and how many more there were: ${outcome}`, () => {
      const { lines, clock, ask } = audit();
      ask('eve', outcome, 10_000);
      assert.equal(lines.length, 10);
      clock.time = 1_000;
      ask('eve', outcome, 2);
      assert.deepEqual(
        lines.slice(10).map(({ notShown }) => notShown),
        [9_990, undefined],
      );
    });

  test('nothing of others is hidden, and nothing that was done', () => {
    const { lines, ask } = audit();
    ask('eve', 'PERMISSION_DENIED', 10_000);
    ask('bob');
    for (const outcome of ['OK', 'CANCELLED', 'UNAVAILABLE', 'INTERNAL']) ask('eve', outcome, 50);
    assert.equal(lines.length, 10 + 1 + 4 * 50);
    assert.equal(lines[10]?.who, 'bob');
  });

  test('names that are made up share a count, when there are too many', () => {
    const { lines, clock, ask } = audit();
    for (let at = 0; at < 20_000; at += 1) ask(`made-up-${at}`);
    assert.equal(lines.length, 1_000 + 10);
    clock.time = 1_000;
    ask('bob');
    assert.equal(lines.at(-1)?.who, 'bob', 'a second later there is room again');
    assert.equal(lines.at(-1)?.notShown, undefined);
  });
});
