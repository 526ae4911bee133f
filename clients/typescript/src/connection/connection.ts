import type { Channel, ClientOptions } from '@grpc/grpc-js';
import { systemClock } from '../time/clock.js';
import { openChannel } from './channel.js';
import { Reach } from './reach.js';
import { speaksTls } from './speaks-tls.js';
import { type TlsOptions, tlsSettings } from './tls-options.js';
import { TlsProbe } from './tls-probe.js';
import { bearing, type TokenSource, tokensOf } from './token.js';

/** One connection to a sidecar, for every kind of call. */
export interface Connection {
  readonly address: string;
  readonly channel: Channel;
  readonly reach: Reach;
  /** For the clients of its services. */
  readonly options: ClientOptions;
}

/**
 * The connection is made by the first call.
 *
 * @throws KeyturnError (INVALID_ARGUMENT): an option is wrong, or a file that it names
 */
export function openConnection(
  address: string,
  { tls, token }: { readonly tls?: boolean | TlsOptions | undefined; readonly token?: TokenSource | undefined } = {},
): Connection {
  const settings = tlsSettings(tls);
  const tokens = tokensOf(token);
  const channelOverride = openChannel(address, settings);
  const security = settings === undefined ? 'plain' : settings.showsCertificate ? 'mutual_tls' : 'tls';
  const options = tokens === undefined ? { channelOverride } : { channelOverride, interceptors: [bearing(tokens)] };
  const reach = new Reach(address, security, new TlsProbe(systemClock, () => speaksTls(address)));
  return { address, channel: channelOverride, reach, options };
}
