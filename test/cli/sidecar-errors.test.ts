/** Failed calls, as a command prints them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyturnError } from '@keyturn/client';
import { EXIT } from '../../src/cli/exit-codes.js';
import { CommandFailure } from '../../src/cli/failure.js';
import { commandFailure } from '../../src/cli/sidecar.js';

const TEXTS = [
  'redis://10.0.0.5:6379 cannot be reached: nothing listens there',
  'no room to write /var/lib/keyturn/data.mdb',
  'the link to the sidecar at 10.0.0.6:7423 broke while the call was on its way',
];
for (const text of TEXTS)
  test(`S613: STORE_UNAVAILABLE is printed as it is: ${text}`, () => {
    const failure = commandFailure(new KeyturnError(text, 'UNAVAILABLE', 'STORE_UNAVAILABLE'), '127.0.0.1:7420');
    assert.ok(failure instanceof CommandFailure);
    assert.equal(failure.message, text);
    assert.equal(failure.exitCode, EXIT.unreachable);
  });
