/** Where a client finds its sidecar when nobody says it. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { connect } from '@keyturn/client';

for (const [variable, address] of [
  [undefined, '127.0.0.1:7420'],
  ['', '127.0.0.1:7420'],
  ['127.0.0.1:1', '127.0.0.1:1'],
] as const)
  it(`without an address, KEYTURN_ADDRESS ${JSON.stringify(variable)}: ${address}`, async (t) => {
    const { KEYTURN_ADDRESS: before } = process.env;
    t.after(() => {
      if (before === undefined) delete process.env['KEYTURN_ADDRESS'];
      else process.env['KEYTURN_ADDRESS'] = before;
    });
    if (variable === undefined) delete process.env['KEYTURN_ADDRESS'];
    else process.env['KEYTURN_ADDRESS'] = variable;
    const keyturn = connect();
    assert.equal(keyturn.address, address);
    await keyturn.close();
  });
