/** Payloads, results and header values: text where the bytes are UTF-8, else `{"base64": …}`. */
import { Buffer, isUtf8 } from 'node:buffer';
import { type Fields, isFields, WrongRequest } from './fields.js';

export type ShownBytes = string | { readonly base64: string };

export function shownBytes(bytes: Uint8Array): ShownBytes {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return isUtf8(buffer) ? buffer.toString('utf8') : { base64: buffer.toString('base64') };
}

export function optionalBytes(fields: Fields, name: string): Uint8Array | undefined {
  const value = fields[name];
  if (value === undefined) return undefined;
  if (typeof value === 'string') return Buffer.from(value, 'utf8');
  if (isFields(value) && typeof value['base64'] === 'string') return Buffer.from(value['base64'], 'base64');
  throw new WrongRequest(`${name} is neither a text nor {"base64": …}`);
}
