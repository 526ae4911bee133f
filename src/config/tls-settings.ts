/** The settings of TLS: which files it takes. The whole group can be written in the file; each has its variable and flag. */
import { optional, path } from './kinds.js';
import type { ServerSetting } from './server-settings.js';
import type { Group } from './settings-table.js';

/** All unset: no TLS. `cert` and `key` come together. */
export interface TlsSettings {
  readonly cert: string | undefined;
  readonly key: string | undefined;
  /** Set: clients must show a certificate. */
  readonly clientCa: string | undefined;
}

export const TLS_DEFAULTS: TlsSettings = Object.freeze({ cert: undefined, key: undefined, clientCa: undefined });

export const TLS_DOC = 'TLS on the gRPC listener. The files are read again when they change.';

const file = optional(path, 'none', '');

export const TLS_SETTINGS: { readonly [K in keyof TlsSettings]: ServerSetting<TlsSettings[K]> } = {
  cert: {
    kind: file,
    env: 'KEYTURN_TLS_CERT',
    flag: '--tls-cert',
    operand: 'file',
    doc: "PEM file with the server's certificate, and those between it and its authority. With it gRPC is served over TLS only.",
  },
  key: {
    kind: file,
    env: 'KEYTURN_TLS_KEY',
    flag: '--tls-key',
    operand: 'file',
    doc: 'PEM file with the private key of that certificate, without a passphrase.',
  },
  clientCa: {
    kind: file,
    env: 'KEYTURN_TLS_CLIENT_CA',
    flag: '--tls-client-ca',
    operand: 'file',
    doc: 'PEM file with the authorities whose certificates clients must show. Without it any client may connect.',
  },
};

export const TLS_GROUP: Group<TlsSettings> = { table: TLS_SETTINGS, refusals: {} };

/** The flags by the names that the parser of the command line gives them. */
export const TLS_FLAGS = { cert: 'tlsCert', key: 'tlsKey', clientCa: 'tlsClientCa' } as const satisfies Record<
  keyof TlsSettings,
  string
>;

/** Names as people write them. */
export const TLS_NAMES: Readonly<Record<keyof TlsSettings, string>> = {
  cert: 'tls.cert',
  key: 'tls.key',
  clientCa: 'tls.client_ca',
};
