/** What the package says of itself. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as client from '@keyturn/client';
import { connect, KeyturnError, VERSION } from '@keyturn/client';
import { read } from '../../project/repository.js';

const PACKAGE = 'clients/typescript';

interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly engines: unknown;
  readonly license: string;
  readonly scripts: Readonly<Record<string, string>>;
}

function manifest(path: string): Manifest {
  // Our own file, which npm checks.
  return JSON.parse(read(path).text) as Manifest;
}

describe('the package', () => {
  const own = manifest(`${PACKAGE}/package.json`);
  const root = manifest('package.json');

  it('has the version of the sidecar, and the code knows it', () => {
    assert.deepEqual(
      [own.version, VERSION, root.dependencies['@keyturn/client']],
      [root.version, own.version, own.version],
    );
  });

  it('depends on gRPC and the codec and nothing else, as the sidecar does', () => {
    const { '@grpc/grpc-js': grpc, '@bufbuild/protobuf': codec } = root.dependencies;
    assert.deepEqual(own.dependencies, { '@bufbuild/protobuf': codec, '@grpc/grpc-js': grpc });
  });

  it('has the engines and the license of the sidecar, with its text', () => {
    assert.deepEqual([own.engines, own.license], [root.engines, root.license]);
    assert.equal(read(`${PACKAGE}/LICENSE`).text, read('LICENSE').text);
  });

  it('is built before it is packed: a fresh clone would pack nothing', () => {
    assert.match(own.scripts['prepack'] ?? '', / run --silent build:src$/);
    assert.ok(root.scripts['build:src']?.includes('tsc -b src'));
  });

  it('makes its values, and only these, public', () => {
    const values = Object.keys(client);
    for (const name of ['connect', 'KeyturnError', 'TurnLostError', 'VERSION']) assert.ok(values.includes(name), name);
    assert.deepEqual(
      values.filter((name) => /^(Keyturn|Consumer|Producer|Session|Unary|Held|Fake)$/.test(name)),
      [],
    );
  });
});

describe('options', () => {
  const WRONG = [
    [{ sessionTtl: 99 }, 'sessionTtl: 99 is not allowed; 100 to 86400000 ms is'],
    [{ margin: -1 }, 'margin: -1 is not allowed; 0 to 86400000 ms is'],
    [{ openCommands: 100_001 }, 'openCommands: 100001 is not allowed; 1 to 100000 calls is'],
    [{ openBytes: Number.NaN }, 'openBytes: NaN is not allowed; 4194304 to 9007199254740991 bytes is'],
  ] as const;

  for (const [options, message] of WRONG) {
    it(`refused at once: ${JSON.stringify(options)}`, () => {
      assert.throws(
        () => connect('127.0.0.1:1', options),
        (error) => error instanceof KeyturnError && error.code === 'INVALID_ARGUMENT' && error.message === message,
      );
    });
  }
});
