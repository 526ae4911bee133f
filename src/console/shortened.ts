/**
 * Why a call has no answer, no longer than somebody reads. The library tells the whole name of a field that is not known, and the name
 * may be as long as a request: whoever asks would get back what they sent.
 */
import type { UniversalServerResponse } from '@connectrpc/connect/protocol';

const MOST_CHARACTERS = 500;

/** As it is, unless its message is longer than that. */
export async function shortened(answer: UniversalServerResponse): Promise<UniversalServerResponse> {
  const { status, body, header } = answer;
  const isPlain =
    header?.get('content-type')?.startsWith('application/json') === true && !header.has('content-encoding');
  if (status < 400 || body === undefined || !isPlain) return answer;
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  const whole = Buffer.concat(pieces);
  const said: unknown = whole.length <= MOST_CHARACTERS ? undefined : JSON.parse(whole.toString());
  if (typeof said !== 'object' || said === null || !('message' in said) || typeof said.message !== 'string')
    return { ...answer, body: of(whole) };
  const { message } = said;
  if (message.length <= MOST_CHARACTERS) return { ...answer, body: of(whole) };
  const cut = `${message.slice(0, MOST_CHARACTERS)}… (${message.length} characters)`;
  header?.delete('content-length');
  return { ...answer, body: of(Buffer.from(JSON.stringify({ ...said, message: cut }))) };
}

async function* of(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
