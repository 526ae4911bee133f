/** The connection to a sidecar. */
import { Channel, type ChannelOptions, credentials } from '@grpc/grpc-js';
import { VERSION } from '../words/version.js';
import { TlsCredentials } from './tls-credentials.js';
import type { TlsSettings } from './tls-options.js';

/** A sidecar that vanished without a word is noticed after the two together. */
const KEEPALIVE_TIME_MS = 20_000;
const KEEPALIVE_TIMEOUT_MS = 10_000;
/** Between two attempts to connect. The session has a back-off of its own above it, so that this one is short. */
const FIRST_RECONNECT_MS = 50;
const LAST_RECONNECT_MS = 1_000;
/** Answers stop growing at 3 MiB; what a session gathers in one message may be more than one of them. */
const LARGEST_ANSWER = 64 * 1_048_576;

/** The sidecar is a neighbour: neither a proxy from the environment nor a service config from DNS may come between. */
const OPTIONS: ChannelOptions = {
  'grpc.enable_http_proxy': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.enable_retries': 0,
  // Closing one client must not end the connection of another to the same address, nor should the two share one.
  'grpc.use_local_subchannel_pool': 1,
  'grpc.initial_reconnect_backoff_ms': FIRST_RECONNECT_MS,
  'grpc.max_reconnect_backoff_ms': LAST_RECONNECT_MS,
  'grpc.keepalive_time_ms': KEEPALIVE_TIME_MS,
  'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
  'grpc.max_receive_message_length': LARGEST_ANSWER,
  'grpc.primary_user_agent': `keyturn-typescript/${VERSION}`,
};

/**
 * @param address `host:port` or `unix:/path`. The connection is made by the first call.
 * @param tls unset: none
 */
export function openChannel(address: string, tls?: TlsSettings): Channel {
  const how = tls === undefined ? credentials.createInsecure() : new TlsCredentials(tls, hostOf(address));
  return new Channel(address, how, OPTIONS);
}

/** As it stands in the address: a certificate is for a name, or for an address, whichever people use. */
function hostOf(address: string): string {
  if (address.startsWith('unix:')) return 'localhost';
  const host = address.replace(/:\d+$/, '');
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}
