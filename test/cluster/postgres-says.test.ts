/** What a sidecar says of a statement that failed, by the SQLSTATE of PostgreSQL. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { tlsText } from '../../src/cluster/connections/tls-text.js';
import { replyError } from '../../src/cluster/postgres/failures.js';

const ADDRESS = { name: 'postgres://db/keyturn', user: 'keyturn' };

describe('tables that are gone, or of another version', () => {
  for (const code of ['42P01', '3F000', '42703'])
    it(`${code}: make them again and bring the rows back; another store would throw the only copy away`, () => {
      const { error } = replyError(ADDRESS, Object.assign(new Error('relation does not exist'), { code }));
      assert.equal(error.problem, 'unfit');
      assert.match(error.message, /^postgres:\/\/db\/keyturn has not the tables .*relation does not exist/);
      assert.match(error.message, /keyturn store migrate .*--grant USER.*keyturn cluster restore all/);
      assert.doesNotMatch(error.message, /another store/);
    });
});

describe('S613: a certificate for another name is no matter of its authority', () => {
  const ALTNAMES = "Hostname/IP does not match certificate's altnames: Host: a. is not in the cert's altnames: DNS:b";
  const cases: readonly (readonly [code: string, text: string, says: RegExp, not: RegExp])[] = [
    ['ERR_TLS_CERT_ALTNAME_INVALID', ALTNAMES, /for another name: .*DNS:b \(name the server as/, /NODE_EXTRA_CA_CERTS/],
    ['', `UNAVAILABLE: ${ALTNAMES}`, /for another name/, /NODE_EXTRA_CA_CERTS/],
    [
      'SELF_SIGNED_CERT_IN_CHAIN',
      'self-signed',
      /with SELF_SIGNED_CERT_IN_CHAIN .*NODE_EXTRA_CA_CERTS/,
      /another name/,
    ],
    ['', 'unable to verify', /TLS failed: unable to verify .*NODE_EXTRA_CA_CERTS/, /another name/],
  ];
  for (const [code, text, says, not] of cases)
    it(`${code} ${text.slice(0, 20)}`, () => {
      const told = tlsText(code, text);
      assert.match(told, says);
      assert.doesNotMatch(told, not);
    });
});
