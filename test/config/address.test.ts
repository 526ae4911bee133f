import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Address, formatAddress, isLocal, parseAddress } from '../../src/config/address.js';

const ADDRESSES: readonly { text: string; address: Address; local: boolean }[] = [
  { text: '127.0.0.1:7420', address: { kind: 'tcp', host: '127.0.0.1', port: 7420 }, local: true },
  { text: '127.1.2.3:0', address: { kind: 'tcp', host: '127.1.2.3', port: 0 }, local: true },
  { text: 'localhost:65535', address: { kind: 'tcp', host: 'localhost', port: 65535 }, local: true },
  { text: '[::1]:7420', address: { kind: 'tcp', host: '::1', port: 7420 }, local: true },
  { text: '[::]:7420', address: { kind: 'tcp', host: '::', port: 7420 }, local: false },
  { text: '0.0.0.0:7420', address: { kind: 'tcp', host: '0.0.0.0', port: 7420 }, local: false },
  { text: 'keyturn.internal:7420', address: { kind: 'tcp', host: 'keyturn.internal', port: 7420 }, local: false },
  { text: '127.example.org:1', address: { kind: 'tcp', host: '127.example.org', port: 1 }, local: false },
  { text: 'unix:/run/keyturn.sock', address: { kind: 'unix', path: '/run/keyturn.sock' }, local: true },
];

for (const { text, address, local } of ADDRESSES) {
  test(`${text} is an address, ${local ? 'of this machine only' : 'that others reach'}`, () => {
    assert.deepEqual(parseAddress(text), address);
    assert.equal(formatAddress(address), text);
    assert.equal(isLocal(address), local);
  });
}

const NO_ADDRESSES = [
  '',
  '7420',
  ':7420',
  'localhost',
  'localhost:',
  'localhost:65536',
  'localhost:-1',
  'localhost:07420x',
  'localhost:123456',
  'local host:1',
  '127.0.0.1.5:1',
  '256.1.1.1:1',
  '::1:7420',
  '[::1]',
  '[nope]:1',
  '-x:1',
  'x-:1',
  'http://localhost:1',
  'unix:',
  'unix:/',
  'unix:relative.sock',
  'unix:/a\0b',
  `unix:/${'a'.repeat(107)}`,
  `${'a'.repeat(254)}:1`,
];

for (const text of NO_ADDRESSES) {
  test(`${JSON.stringify(text.slice(0, 40))} is no address`, () => assert.equal(parseAddress(text), undefined));
}
