/** Who asks: tokens of the client, against a sidecar that wants to know. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import {
  connect,
  type Keyturn,
  KeyturnError,
  type KeyturnOptions,
  PermissionDeniedError,
  type TokenSource,
  UnauthenticatedError,
} from '@keyturn/client';
import { Authenticator } from '../../../src/access/authenticator.js';
import type { Right } from '../../../src/access/settings.js';
import { hashOf, Tokens } from '../../../src/access/tokens.js';
import { localCoordinator } from '../../support/local-coordinator.js';
import { startSidecar } from '../../support/sidecar.js';

const ALL: Right = { queues: ['q'], groups: ['*'], may: ['produce', 'consume', 'view', 'operate'] };

interface Stage {
  client(token: TokenSource | undefined, options?: KeyturnOptions): Keyturn;
  /** From now on these are the tokens of ada. */
  accept(...tokens: string[]): void;
  /** A file, with its path. */
  file(text: string): string;
}

async function stage(t: TestContext): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'keyturn-token-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const secrets = (tokens: readonly string[]) => ({
    tokens: new Tokens(tokens.map((token) => ({ name: 'ada', sha256: hashOf(token), until: undefined }))),
    jwt: undefined,
  });
  const rights = new Map([['ada', [ALL]]]);
  const settings = { tokens: 't', certificates: [], jwt: undefined, unix: undefined, rights, perClient: undefined };
  const authenticator = new Authenticator(settings, secrets(['first']));
  const access = { authenticator, refused: () => {} };
  const { address, server } = await startSidecar(t, localCoordinator(t), { access });
  return {
    client(token, options = {}) {
      const made = connect(address, { ...options, token });
      t.after(() => made.close());
      return made;
    },
    accept(...tokens) {
      authenticator.use(secrets(tokens));
      server.endRevoked();
    },
    file(text) {
      const path = join(folder, 'token');
      writeFileSync(path, text);
      return path;
    },
  };
}

const ask = (client: Keyturn, key = 'k') => client.enQueue({ queue: 'q', key, wait: 0 }, { timeout: 60_000 });

async function failureOf(answer: Promise<unknown>): Promise<KeyturnError> {
  const error = await answer.then(
    () => assert.fail('the call was answered'),
    (caught: unknown) => caught,
  );
  assert.ok(error instanceof KeyturnError, String(error));
  return error;
}

for (const transport of ['session', 'unary'] as const) {
  describe(`a token, over ${transport}`, () => {
    const sources: Readonly<Record<string, (stage: Stage) => TokenSource>> = {
      'as a text': () => 'first',
      'in a file': ({ file }) => ({ file: file('first\n') }),
      'by a function': () => () => 'first',
      'by a function that takes its time': () => async () => 'first',
    };
    for (const [how, source] of Object.entries(sources)) {
      test(`${how} lets calls of workers and of people in`, async (t) => {
        const on = await stage(t);
        const client = on.client(source(on), { transport });
        assert.equal((await ask(client)).decision, 'accept');
        assert.equal((await client.admin.explainKey('q', 'k')).state, 'PROCESS');
      });
    }

    const wrong: readonly (readonly [what: string, source: TokenSource | undefined, expected: RegExp])[] = [
      ['none', undefined, /nothing says who is asking.*\(option token of the client: /],
      ['one that is not known', 'another', /not known here.*\(option token of the client: /],
      [
        'a function that fails',
        () => {
          throw new Error('the vault is closed');
        },
        /no token: the vault is closed/,
      ],
      [
        'a function that fails later',
        () => Promise.reject(new Error('the vault is closed')),
        /no token: the vault is closed/,
      ],
      ['a function that gives nothing', () => '', /no token: the token is empty/],
    ];
    for (const [what, source, expected] of wrong) {
      test(`${what}: calls fail at once, and not when their time is over`, async (t) => {
        const { client } = await stage(t);
        const error = await failureOf(ask(client(source, { transport })));
        assert.ok(error instanceof UnauthenticatedError, error.name);
        assert.equal(error.code, 'UNAUTHENTICATED');
        assert.match(error.message, expected);
      });
    }

    test('what the rights do not allow is told with verb and queue, and the rest goes on', async (t) => {
      const { client } = await stage(t);
      const made = client('first', { transport });
      const error = await failureOf(made.enQueue({ queue: 'foreign', key: 'k' }));
      assert.ok(error instanceof PermissionDeniedError, error.name);
      assert.deepEqual([error.code, error.reason], ['PERMISSION_DENIED', 'NOT_ALLOWED']);
      assert.deepEqual(Object.fromEntries(error.details.metadata), { verb: 'consume', what: 'queue foreign' });
      assert.equal((await ask(made)).decision, 'accept');
    });

    test('a file that is replaced counts for what is asked after it', async (t) => {
      const { client, file, accept } = await stage(t);
      const path = file('first');
      const made = client({ file: path }, { transport });
      assert.equal((await ask(made)).decision, 'accept');
      file('second');
      accept('second');
      // The file is looked at once a second.
      const until = Date.now() + 30_000;
      for (;;) {
        const outcome = await ask(made, 'other').catch((error: unknown) => error);
        if (!(outcome instanceof KeyturnError)) break;
        assert.equal(outcome.code, 'UNAUTHENTICATED');
        assert.ok(Date.now() < until, 'the new token came into use');
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    });
  });
}

test('a session whose token ends in the middle comes back with the next one, and has its turns', async (t) => {
  const { client, accept } = await stage(t);
  let token = 'first';
  const made = client(() => token);
  const answer = await ask(made);
  assert.ok(answer.decision === 'accept');
  token = 'second';
  accept('second');
  const { turn } = answer;
  await made.deQueue({ queue: 'q', key: 'k', token: turn.token });
});

test('a session looks at the file of its token at once when it comes back', async (t) => {
  const { client, file, accept } = await stage(t);
  const made = client({ file: file('first') });
  const answer = await ask(made);
  assert.ok(answer.decision === 'accept');
  // Within the second in which calls would not look again.
  file('second');
  accept('second');
  const { turn } = answer;
  await made.deQueue({ queue: 'q', key: 'k', token: turn.token });
});

describe('the option', () => {
  const cases: readonly (readonly [what: string, token: unknown, expected: RegExp])[] = [
    ['an empty text', '', /^token is empty/],
    ['a text with a line break', 'a\nb', /^token is empty, or has a space/],
    ['a huge text', 'x'.repeat(10_000), /^token has 10000 characters; allowed are 8192/],
    ['a number', 7, /^token is 7; allowed is a token, \{ file: PATH \}, or a function/],
    ['null', null, /^token is null; allowed is/],
    ['an object without a file', {}, /; allowed is a token/],
    [
      'a file that is not there',
      { file: '/no/such/token' },
      /^token\.file is "\/no\/such\/token": it cannot be read: ENOENT/,
    ],
  ];
  for (const [what, token, expected] of cases) {
    test(`${what} is refused by connect`, () => {
      assert.throws(
        () => connect('127.0.0.1:1', { token: token as TokenSource }),
        (error: unknown) =>
          error instanceof KeyturnError && error.code === 'INVALID_ARGUMENT' && expected.test(error.message),
      );
    });
  }

  test('no error shows the token', () => {
    assert.throws(
      () => connect('127.0.0.1:1', { token: 'my secret' }),
      (error: unknown) => error instanceof Error && !error.message.includes('secret'),
    );
  });
});

describe('a file with a token', () => {
  const good: readonly (readonly [what: string, text: string])[] = [
    ['ends with a line break of Windows', 'first\r\n'],
    ['has spaces around it', '  first\t\n\n'],
  ];
  for (const [what, text] of good) {
    test(`that ${what} counts`, async (t) => {
      const { client, file } = await stage(t);
      assert.equal((await ask(client({ file: file(text) }))).decision, 'accept');
    });
  }

  const wrong: readonly (readonly [what: string, text: string, expected: RegExp])[] = [
    ['is empty', '', /is empty, or has a space or a character beyond ASCII/],
    ['has two lines', 'first\nsecond\n', /is empty, or has a space/],
    ['begins with a byte order mark', '\ufefffirst', /a character beyond ASCII/],
    ['is large', 'x'.repeat(1_048_576), /has 16384 characters; allowed are 8192/],
  ];
  for (const [what, text, expected] of wrong) {
    test(`that ${what} is refused by connect, and its text is not shown`, async (t) => {
      const { client, file } = await stage(t);
      const path = file(text);
      assert.throws(
        () => client({ file: path }),
        (error: unknown) =>
          error instanceof KeyturnError && expected.test(error.message) && !/first|xx/.test(error.message),
      );
    });
  }

  test('that never ends is not read to its end', async (t) => {
    const { client } = await stage(t);
    assert.throws(() => client({ file: '/dev/zero' }), /has 16384 characters/);
  });
});

test('S593: no token is sent to another machine in clear text, unless that is said', async () => {
  for (const address of [
    '192.0.2.1:1',
    'keyturn.example:1',
    '[2001:db8::1]:1',
    '127.0.0.1.example:1',
    'localhost.example:1',
  ])
    assert.throws(() => connect(address, { token: 'secret' }), {
      code: 'INVALID_ARGUMENT',
      message: `token: it would be sent to ${address} in clear text; use tls, or say insecure: true`,
    });
  const fine: readonly (readonly [string, KeyturnOptions])[] = [
    ['192.0.2.1:1', { token: 'secret', tls: true }],
    ['192.0.2.1:1', { token: 'secret', insecure: true }],
    ['192.0.2.1:1', {}],
    ['127.0.0.1:1', { token: 'secret' }],
    ['127.1.2.3:1', { token: 'secret' }],
    ['localhost:1', { token: 'secret' }],
    ['[::1]:1', { token: 'secret' }],
    ['unix:/run/keyturn.sock', { token: 'secret' }],
  ];
  for (const [address, options] of fine) await connect(address, options).close();
});
