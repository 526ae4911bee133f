/** Who one is, logging in and out. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { TLSSocket } from 'node:tls';
import type { Authenticator } from '../access/authenticator.js';
import type { Refusal } from '../coordinator.js';
import type { Refused } from '../grpc/call/door.js';
import { Attempts } from './attempts.js';
import { tellJson, tellText } from './headers.js';
import type { Logins } from './logins.js';
import { fromOf, shownBy, type Viewers } from './viewer.js';

/** Of the body; the longest token has half of it. */
const LONGEST_BODY = 16_384;

interface LoginOptions {
  readonly viewers: Viewers;
  readonly logins: Logins;
  /** Unset: nobody is asked who they are, and nobody can log in. */
  readonly authenticator: Authenticator | undefined;
  readonly refused: Refused | undefined;
  readonly cookie: string;
  readonly version: string;
}

export class LoginPaths {
  readonly #attempts = new Attempts();

  constructor(private readonly options: LoginOptions) {}

  /** `GET /session` */
  async session(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { viewers, version } = this.options;
    const found = await viewers.of(request);
    const shown = shownBy(request);
    // Also here a token is tried.
    if (!found.ok && shown.authorization.length > 0)
      this.options.refused?.(shown, fromOf(request), '/session', whyOf(found.refusal));
    const principal = (found.ok ? found.viewer.principal?.name : undefined) ?? null;
    tellJson(response, 200, { auth: viewers.areAsked, principal, version });
  }

  /** `POST /login` with `{"token": "…"}` */
  async login(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { authenticator, logins, refused, cookie } = this.options;
    if (authenticator === undefined)
      return tellJson(response, 409, { message: 'nobody is asked who they are here: there is no login' });
    const address = request.socket.remoteAddress ?? '';
    const token = tokenIn(await bodyOf(request));
    if (token === undefined)
      return tellJson(response, 400, { message: `the body must be {"token": "…"}, at most ${LONGEST_BODY} bytes` });
    const shown = { ...shownBy(request), authorization: [`Bearer ${token}`] };
    const identified = await authenticator.identify(shown);
    if (!identified.ok) {
      const seconds = this.#attempts.failed(address);
      if (seconds !== undefined) {
        const message = `too many logins from this address have failed; try again in ${seconds} s`;
        return tellJson(response, 429, { message }, { 'retry-after': String(seconds) });
      }
      const message = whyOf(identified.refusal);
      refused?.(shown, fromOf(request), '/login', message);
      return tellJson(response, 401, { message });
    }
    for (const before of this.options.viewers.loginsOf(request)) logins.close(before);
    const id = logins.open(identified.value);
    tellJson(response, 200, { principal: identified.value.name }, { 'set-cookie': written(request, cookie, id) });
  }

  /** `POST /logout` */
  logout(request: IncomingMessage, response: ServerResponse): void {
    const { viewers, logins, cookie } = this.options;
    for (const id of viewers.loginsOf(request)) logins.close(id);
    tellJson(response, 200, {}, { 'set-cookie': `${written(request, cookie, '')}; Max-Age=0` });
  }
}

/** Scripts cannot read it, and the browser sends it with nothing that another page asks for. */
function written({ socket }: IncomingMessage, name: string, value: string): string {
  const secure = socket instanceof TLSSocket ? '; Secure' : '';
  return `${name}=${value}; Path=/; HttpOnly; SameSite=Strict${secure}`;
}

function whyOf(refusal: Refusal): string {
  return refusal.kind === 'no_credentials' ? refusal.description : refusal.kind;
}

/** Unset: it is too long, or whoever sent it is gone. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of request) {
      const bytes = Buffer.from(chunk);
      length += bytes.length;
      if (length > LONGEST_BODY) return undefined;
      chunks.push(bytes);
    }
  } catch (error) {
    // A connection that breaks is no failure of ours.
    if (request.complete) throw error;
    return undefined;
  }
  return Buffer.concat(chunks).toString();
}

function tokenIn(body: string | undefined): string | undefined {
  try {
    const value: unknown = body === undefined ? undefined : JSON.parse(body);
    if (typeof value !== 'object' || value === null || !('token' in value)) return undefined;
    const { token } = value;
    return typeof token === 'string' ? token.trim() : undefined;
  } catch {
    return undefined;
  }
}

export function methodNotAllowed(response: ServerResponse, allowed: string): void {
  tellText(response, 405, `only ${allowed}`, { allow: allowed });
}
