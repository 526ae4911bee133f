/** The token that says who asks: from the options, a file that is read again, or a function. */
import { closeSync, openSync, readSync } from 'node:fs';
import { InterceptingCall, type Interceptor, status } from '@grpc/grpc-js';
import { systemClock } from '../time/clock.js';
import { wrongSetting } from '../words/option-checks.js';
import { isText, shown } from '../words/values.js';

/**
 * The token itself; a file that has it, which is read again, so that one that is replaced counts from the next call or
 * stream on; or a function that gives it, called for each call and stream.
 */
export type TokenSource = string | { readonly file: string } | (() => string | Promise<string>);

/** For calls a file is not read more often. */
const READ_EVERY_MS = 1_000;
const MOST_BYTES = 8_192;
/** Room for the end of its line; what is longer is no token. A wrong path (a log, /dev/zero) must not fill the memory. */
const MOST_READ = 2 * MOST_BYTES;
const ALLOWED = 'a token, { file: PATH }, or a function that gives a token';
/** What HTTP lets through in a header, without spaces. */
const TOKEN = /^[\x21-\x7e]+$/;

/** @param anew what is asked for goes on for long: the token of this very moment counts, not one of a second ago */
type Tokens = (anew: boolean) => string | Promise<string>;

/** @throws KeyturnError (INVALID_ARGUMENT): the option is wrong, or the file cannot be read */
export function tokensOf(source: TokenSource | undefined): Tokens | undefined {
  if (source === undefined) return undefined;
  if (typeof source === 'function') return () => source();
  if (typeof source === 'string') {
    const token = checked('token', source);
    return () => token;
  }
  if (typeof source !== 'object' || source === null || !isText(source.file))
    throw wrongSetting(`token is ${shown(source)}; allowed is ${ALLOWED}`);
  return tokenFile(source.file);
}

/** While it cannot be read, the last good one counts: who replaces it may be in the middle of it. */
function tokenFile(path: string): Tokens {
  let token = read(path);
  let readAt = systemClock.now();
  return (anew) => {
    const now = systemClock.now();
    if (!anew && now - readAt < READ_EVERY_MS) return token;
    readAt = now;
    try {
      token = read(path);
    } catch {
      // As said above.
    }
    return token;
  };
}

function read(path: string): string {
  let text: string;
  try {
    text = readBounded(path);
  } catch (error) {
    throw wrongSetting(
      `token.file is ${shown(path)}: it cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  return checked(`the token in ${shown(path)}`, text.trim());
}

function readBounded(path: string): string {
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(MOST_READ);
    let length = 0;
    for (let read = -1; read !== 0 && length < MOST_READ; length += read)
      read = readSync(file, buffer, length, MOST_READ - length, null);
    // Byte by byte: what is no ASCII, a mark of its order too, is refused as in all languages.
    return buffer.toString('latin1', 0, length);
  } finally {
    closeSync(file);
  }
}

/** The token is a secret: no error shows it. */
function checked(name: string, token: string): string {
  if (token.length > MOST_BYTES)
    throw wrongSetting(`${name} has ${token.length} characters; allowed are ${MOST_BYTES}`);
  if (!TOKEN.test(token))
    throw wrongSetting(
      `${name} is empty, or has a space or a character beyond ASCII; needed is a token as "keyturn token new" prints it`,
    );
  return token;
}

/** Puts the token on every call and stream. @throws nothing: without a token a call fails with UNAUTHENTICATED */
export function bearing(tokens: Tokens): Interceptor {
  return (options, next) => {
    const inner = next(options);
    const { requestStream, responseStream } = options.method_definition;
    return new InterceptingCall(inner, {
      start(metadata, listener, start) {
        const go = (token: string) => {
          metadata.set('authorization', `Bearer ${checked('the token', token)}`);
          start(metadata, listener);
        };
        const fail = (error: unknown) => {
          start(metadata, listener);
          inner.cancelWithStatus(
            status.UNAUTHENTICATED,
            `no token: ${error instanceof Error ? error.message : String(error)}`,
          );
        };
        try {
          const token = tokens(requestStream || responseStream);
          if (typeof token === 'string') go(token);
          else token.then(go).catch(fail);
        } catch (error) {
          fail(error);
        }
      },
    });
  };
}
