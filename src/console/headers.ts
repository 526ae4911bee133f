/** What every answer of the console says, whatever it answers. */
import type { ServerResponse } from 'node:http';

/**
 * Nothing but our own files runs or is shown; nobody frames us; no text becomes a script. Pictures of payloads are made by the page
 * itself (blob:).
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'cache-control': 'no-store',
};

export function guard(response: ServerResponse): void {
  for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
}

/** ms. Whoever has not read an answer by then is not waited for. */
const READ_WITHIN = 30_000;

interface Told {
  readonly status: number;
  readonly body: string | Uint8Array;
  readonly type: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export function tell(response: ServerResponse, { status, body, type, headers }: Told, isHead = false): void {
  if (response.destroyed) return;
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  response.writeHead(status, { 'content-type': type, 'content-length': bytes.length, ...headers });
  const timer = setTimeout(() => response.destroy(), READ_WITHIN).unref();
  response.once('close', () => clearTimeout(timer));
  response.end(isHead ? undefined : bytes);
}

export function tellText(
  response: ServerResponse,
  status: number,
  text: string,
  headers?: Readonly<Record<string, string>>,
): void {
  tell(response, { status, body: `${text}\n`, type: 'text/plain; charset=utf-8', ...(headers && { headers }) });
}

export function tellJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers?: Readonly<Record<string, string>>,
): void {
  tell(response, { status, body: JSON.stringify(value), type: 'application/json', ...(headers && { headers }) });
}
