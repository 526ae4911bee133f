/** Where a server listens: `host:port`, `[v6]:port` or `unix:/path`. */
import { isIPv4, isIPv6 } from 'node:net';

export type Address =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string };

/** What `sockaddr_un` has room for on Linux, less the final zero. macOS has 4 fewer; there the bind itself complains. */
const UNIX_PATH_BYTES = 107;
const HOST_NAME =
  /^(?=.{1,253}$)[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?(?:\.[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?)*$/;
/** Four numbers that are no IPv4 address would be looked up as a name, and fail late and oddly. */
const ONLY_NUMBERS = /^[0-9.]+$/;

export function parseAddress(text: string): Address | undefined {
  return text.startsWith('unix:') ? parseUnix(text.slice('unix:'.length)) : parseTcp(text);
}

function parseUnix(path: string): Address | undefined {
  const fits = path.startsWith('/') && path.length > 1 && Buffer.byteLength(path) <= UNIX_PATH_BYTES;
  return fits && !path.includes('\0') ? { kind: 'unix', path } : undefined;
}

function parseTcp(text: string): Address | undefined {
  const colon = text.lastIndexOf(':');
  const host = colon < 0 ? undefined : parseHost(text.slice(0, colon));
  const digits = text.slice(colon + 1);
  const port = /^\d{1,5}$/.test(digits) ? Number(digits) : Number.NaN;
  return host !== undefined && port <= 65_535 ? { kind: 'tcp', host, port } : undefined;
}

function parseHost(text: string): string | undefined {
  if (text.startsWith('[') && text.endsWith(']')) {
    const inner = text.slice(1, -1);
    return isIPv6(inner) ? inner : undefined;
  }
  if (isIPv4(text)) return text;
  return HOST_NAME.test(text) && !ONLY_NUMBERS.test(text) ? text : undefined;
}

export function formatAddress(address: Address): string {
  if (address.kind === 'unix') return `unix:${address.path}`;
  return `${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`;
}

/** Only processes of this machine can reach it. */
export function isLocal(address: Address): boolean {
  if (address.kind === 'unix') return true;
  return (
    address.host === 'localhost' || address.host === '::1' || (isIPv4(address.host) && address.host.startsWith('127.'))
  );
}
