/** S442: keyturn server, of a sidecar that asks nobody, and of one that asks everybody. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hashOf, newToken } from '../../src/access/tokens.js';
import { command, serveHere } from './in-process.js';
import { put, temporaryFolder } from './keyturn-process.js';

describe('keyturn server', () => {
  it('tells of a sidecar that asks nobody who they are', async (t) => {
    const { address } = await serveHere(t, 'drain_timeout: 7s\nstore: memory\n');
    const { exitCode, stdout } = await command(['server', '--address', address]);
    assert.equal(exitCode, 0);
    assert.match(stdout, /^version +\d+\.\d+\.\d+, Node v/m);
    assert.match(stdout, /^keeps +in memory only$/m);
    assert.match(stdout, /^you are +whoever you are: nobody is asked$/m);
    assert.match(stdout, /^drain_timeout: 7s$/m);
    assert.match(stdout, /^payload bytes +0 of [\d,]+$/m);
    const told: unknown = JSON.parse((await command(['server', '--address', address, '--json'])).stdout);
    assert.ok(typeof told === 'object' && told !== null);
    assert.deepEqual(
      Object.entries(told).filter(([name]) =>
        ['auth', 'tls', 'audit', 'keeps', 'principal', 'grpc_address'].includes(name),
      ),
      [
        ['auth', false],
        ['tls', false],
        ['audit', false],
        ['keeps', 'memory'],
        ['grpc_address', address],
      ],
    );
  });

  it('tells everybody who they are and what they may, and the settings to those who may view everything', async (t) => {
    const folder = await temporaryFolder(t);
    const [ada, ops] = [newToken(), newToken()];
    const tokens = await put(
      folder,
      'tokens.yaml',
      `ada: { sha256: ${hashOf(ada)} }\nops: { sha256: ${hashOf(ops)} }\n`,
    );
    const settings = `auth:
  tokens: ${tokens}
  rights:
    ada: [{ queues: ['ada.*'], may: [consume, view] }]
    ops: [{ queues: ['*'], may: [view, operate] }]
queues: { hidden: { lease: 17s } }
`;
    const { address } = await serveHere(t, settings);
    const as = async (name: string, token: string) => {
      const file = await put(folder, `${name}.token`, token);
      return (await command(['server', '--address', address, '--token-file', file])).stdout;
    };
    const [hers, theirs] = [await as('ada', ada), await as('ops', ops)];
    assert.match(hers, /^you are +ada$/m);
    assert.match(hers, /^you may +consume, view on queue ada\.\*$/m);
    assert.doesNotMatch(hers, /hidden|ops|payload bytes/);
    assert.match(theirs, /^you may +view, operate on queue \*$/m);
    assert.match(theirs, /hidden:\n +lease: 17s/);
    assert.doesNotMatch(theirs, new RegExp(`${ada}|${ops}`));
  });
});
