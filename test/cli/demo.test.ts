import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { registerDemo } from '../../src/cli/demo.js';
import { keyturn, put, startKeyturn, temporaryFolder } from './keyturn-process.js';
import { refusalOf } from './refusal.js';

/** Nobody listens there any more. */
async function assertGone(stdout: string): Promise<void> {
  const [, host = '', port = ''] = /^Sidecar: ([\d.]+):(\d+),/m.exec(stdout) ?? [];
  assert.notEqual(port, '', `the sidecar's address is told: ${stdout}`);
  const socket = connect(Number(port), host);
  const [error] = await once(socket, 'error');
  assert.equal(error.code, 'ECONNREFUSED');
}

describe('keyturn demo', () => {
  it('shows what is saved and kept in order, and leaves no process behind', async () => {
    const { exitCode, stdout, stderr } = await keyturn(['demo', '--limit', '500']);
    assert.deepEqual([exitCode, stderr], [0, '']);
    assert.match(stdout, /^Traffic: made-up requests of the shape of a real log/);
    assert.match(stdout, /^1\. Not twice at once: 8 workers, 5 ms of work, one turn per path/m);
    assert.match(stdout, /^3\. In order: 8 workers, 1 ms of work, one turn per client/m);
    assert.equal(stdout.match(/✔ most workers seen at once on one (path|client): 1$/gm)?.length, 3);
    assert.equal(stdout.match(/✔ requests seen out of order: 0$/gm)?.length, 3);
    assert.match(stdout, /^ {2}processed +█+ +500: none left out$/m);
    assert.doesNotMatch(stdout, /✘/);
    await assertGone(stdout);
  });

  it('needs nothing that is not in the package: its help names no file of elsewhere', async () => {
    const { exitCode, message } = await refusalOf(registerDemo, ['demo', '--help']);
    assert.equal(exitCode, 0);
    assert.match(message, /Without a file it makes up 10,000 requests/);
    assert.doesNotMatch(message, /\.\./);
  });

  it("takes the user's own log, and is not led astray by settings for the sidecar of the machine", async (t: TestContext) => {
    const line = (n: number) => `10.0.0.${n % 3} - - [x] "GET /${n % 5} HTTP/1.1" 200 1 "-" "-"\n`;
    const log = Array.from({ length: 100 }, (_, n) => line(n)).join('');
    const file = await put(await temporaryFolder(t), 'access.log', `${log}garbage\n`);
    const env = { KEYTURN_CONFIG: '/no/such.yaml', KEYTURN_LISTEN: 'nonsense', KEYTURN_ADDRESS: '127.0.0.1:1' };
    const { exitCode, stdout, stderr } = await keyturn(['demo', file], { env });
    assert.equal(exitCode, 0, stderr);
    assert.ok(stdout.startsWith(`Traffic: your own log, ${file}\n`));
    assert.match(stdout, /^ {2}handed over +█+ +100$/m);
    assert.match(stderr, /^(keyturn: skipped .*access\.log, line 101: not a line of a combined log: "garbage"\n){3}$/);
    await assertGone(stdout);
  });

  it('says what is wrong with a file, and still stops the sidecar', async (t: TestContext) => {
    const file = await put(await temporaryFolder(t), 'a.csv', 'url,client\n/,a\n');
    const { exitCode, stdout, stderr } = await keyturn(['demo', file]);
    assert.equal(exitCode, 2);
    assert.match(stderr, /a\.csv, line 1: no column "path"; there are: "url", "client"/);
    await assertGone(stdout);
  });

  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    it(`ends on ${signal}, and the sidecar with it`, async (t: TestContext) => {
      const running = startKeyturn(['demo']);
      t.after(() => running.child.kill('SIGKILL'));
      assert.ok(running.child.stdout);
      await once(running.child.stdout, 'data');
      running.child.kill(signal);
      const { exitCode, stdout } = await running.ended;
      assert.equal(exitCode, code);
      await assertGone(stdout);
    });
  }
});
