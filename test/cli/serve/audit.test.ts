/** The audit as an operator finds it: lines on stderr. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
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
