/**
 * S170: content hashes are on disk and in exported files. With others than those of the version that wrote them, a resend of
 * what was accepted before would be refused as another item of the same id.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { byteText, isByteText, type Payload } from '../../../src/core/contract/payload.js';
import { type Content, contentHashOf } from '../../../src/core/items/content.js';

const NOTHING: Content = { key: '', payload: new Uint8Array(), headers: undefined, idempotencyKey: undefined };

function payload(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (i * 37 + 200) & 255);
}

function asText(bytes: Payload): Payload {
  return isByteText(bytes) ? bytes : byteText(String.fromCharCode(...bytes));
}

describe('the contentHash of an item is the same in all versions', () => {
  const cases: readonly [what: string, content: Partial<Content>, contentHash: number][] = [
    ['nothing at all', {}, 176_140_989_521_987],
    ['a key', { key: 'k' }, 3_119_671_695_266_064],
    ['a key beyond Latin', { key: 'ключ 🔑' }, 2_814_875_575_079_049],
    ['an idempotency key', { key: 'k', idempotencyKey: 'b' }, 5_668_384_049_887_299],
    ['a payload of one byte', { key: 'k', payload: payload(1) }, 8_166_744_150_517_412],
    ['of three', { key: 'k', payload: payload(3) }, 6_910_752_616_947_412],
    ['of four', { key: 'k', payload: payload(4) }, 7_641_375_493_794_144],
    ['of seven', { key: 'k', payload: payload(7) }, 6_307_945_794_589_988],
    ['of a thousand', { key: 'k', payload: payload(1_000) }, 7_216_935_204_209_576],
    [
      'headers in any order',
      {
        key: 'k',
        headers: new Map([
          ['b', '2'],
          ['a', '1'],
        ]),
      },
      655_852_068_666_691,
    ],
    [
      'what it waits for, in any order',
      {
        key: 'k',
        after: [
          { queue: 'q', itemId: 'x' },
          { queue: 'p', itemId: 'y' },
        ],
      },
      8_659_426_386_249_132,
    ],
  ];
  for (const [what, content, contentHash] of cases)
    it(what, () => {
      const { payload: given, ...rest } = { ...NOTHING, ...content };
      assert.equal(contentHashOf({ payload: given, ...rest }), contentHash);
      assert.equal(contentHashOf({ payload: asText(given), ...rest }), contentHash, 'with its payload as a text');
    });
});
