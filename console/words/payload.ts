/** What bytes are, by what stands in them. They are shown as that, and never run. */

type Payload =
  | { readonly kind: 'empty' }
  | { readonly kind: 'json'; readonly text: string }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'image'; readonly type: string }
  | { readonly kind: 'bytes' };

/** First bytes of pictures that browsers draw and that carry no program. SVG is text here: it may have scripts. */
const PICTURES: readonly (readonly [type: string, begins: readonly number[], at: number])[] = [
  ['image/png', [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a], 0],
  ['image/jpeg', [0xff, 0xd8, 0xff], 0],
  ['image/gif', [0x47, 0x49, 0x46, 0x38], 0],
  ['image/webp', [0x57, 0x45, 0x42, 0x50], 8],
];

export function payloadOf(bytes: Uint8Array): Payload {
  if (bytes.length === 0) return { kind: 'empty' };
  const picture = PICTURES.find(([, begins, at]) => begins.every((byte, index) => bytes[at + index] === byte));
  if (picture !== undefined) return { kind: 'image', type: picture[0] };
  const text = textOf(bytes);
  if (text === undefined) return { kind: 'bytes' };
  const json = prettied(text);
  return json === undefined ? { kind: 'text', text } : { kind: 'json', text: json };
}

/** Undefined: it is no UTF-8, or has characters that texts do not have, as protobuf has. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return /[^\P{Cc}\t\n\r]/u.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

/** Objects and lists only. A number that a browser would round is left as it was written. */
function prettied(text: string): string | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return /\d{16}/.test(text) ? text : JSON.stringify(value, undefined, 2);
  } catch {
    return undefined;
  }
}

/** Sixteen bytes a line, as hex editors show them. */
export function hexOf(bytes: Uint8Array, most: number): string {
  const lines: string[] = [];
  for (let at = 0; at < Math.min(bytes.length, most); at += 16) {
    const row = [...bytes.subarray(at, Math.min(at + 16, most))];
    const hex = row.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const seen = row.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.')).join('');
    lines.push(`${at.toString(16).padStart(6, '0')}  ${hex.padEnd(47)}  ${seen}`);
  }
  return lines.join('\n');
}

export function bytesOf(base64: string | undefined): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64 ?? ''), (character) => character.charCodeAt(0));
}

export function sizeOf(bytes: number): string {
  return bytes < 1_024
    ? `${bytes} bytes`
    : bytes < 1_048_576
      ? `${(bytes / 1_024).toFixed(1)} KiB`
      : `${(bytes / 1_048_576).toFixed(1)} MiB`;
}
