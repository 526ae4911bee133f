/** Up to this length a text is made quicker from its units than by a call of the engine. */
const FEW = 12;
const LAST_ASCII = 0x7f;

/** The text of these bytes; unset: it is not ASCII. Precondition: `bytes` has them. */
export function asciiText(bytes: Buffer, start: number, length: number): string | undefined {
  if (length > FEW) return isAscii(bytes, start, length) ? bytes.toString('latin1', start, start + length) : undefined;
  const units = new Array<number>(length);
  for (let i = 0; i < length; i++) {
    const unit = bytes[start + i] ?? 0;
    if (unit > LAST_ASCII) return undefined;
    units[i] = unit;
  }
  return String.fromCharCode.apply(String, units);
}

function isAscii(bytes: Buffer, start: number, length: number): boolean {
  for (let at = start; at < start + length; at++) if ((bytes[at] ?? 0) > LAST_ASCII) return false;
  return true;
}
