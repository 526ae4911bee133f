/**
 * Whether a request asks for a name of ours. A page in a browser of this machine may point a name of its own at this machine (DNS
 * rebinding), and would read what it is answered.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

const HIGHEST_PORT = 65_535;
const LOCAL: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '::1']);

/** @param names lower case, without port: those that the settings name, and that of the address */
export function isOurs(request: IncomingMessage, names: ReadonlySet<string>): boolean {
  // Two of them would be joined, or one of them dropped: whoever stands before us may have looked at the other.
  const hosts = request.rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length;
  const name = hosts === 1 ? nameOf(request.headers.host ?? '') : undefined;
  if (name === undefined) return false;
  if (LOCAL.has(name) || names.has(name)) return true;
  // A name can be pointed anywhere, an address cannot.
  return isIP(name) !== 0 && name === request.socket.localAddress?.replace(/^::ffff:/i, '');
}

/** `localhost:7422` is `localhost`, `[::1]:7422` is `::1`. Unset: it is no host. */
function nameOf(host: string): string | undefined {
  const found = /^(?:\[(?<v6>[0-9a-fA-F:.]+)\]|(?<name>[^:[\]/@\s]+?)\.?)(?::(?<port>\d{1,5}))?$/.exec(host)?.groups;
  if (Number(found?.['port'] ?? 0) > HIGHEST_PORT) return undefined;
  return (found?.['v6'] ?? found?.['name'])?.toLowerCase();
}
