/** TLS of the server: what it demands of clients, and its certificate, which can be replaced while it runs. */
import { constants } from 'node:crypto';
import { DEFAULT_CIPHERS, type SecureContextOptions } from 'node:tls';
import { ServerCredentials } from '@grpc/grpc-js';

/** PEM. They fit each other: the caller has checked that. */
export interface Certificates {
  /** The server's own, and those between it and its authority. */
  readonly cert: Buffer;
  readonly key: Buffer;
  /** Set: clients must show a certificate of one of these authorities. */
  readonly clientCa: Buffer | undefined;
}

const OLDEST_VERSION = 'TLSv1.2';
/**
 * Of TLS 1.2 only what makes a key of its own for each connection, as HTTP/2 demands: who gets hold of the private key
 * one day can not read what was recorded before.
 */
const FORWARD_SECRET = [
  ...['TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_GCM_SHA256'],
  ...['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
  ...['ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES256-GCM-SHA384'],
  ...['ECDHE-ECDSA-CHACHA20-POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
].join(':');
/** A client that connects and says nothing is disconnected after this. Node's default is two minutes. */
const HANDSHAKE_TIMEOUT_MS = 10_000;

/**
 * grpc-js replaces the secure context of a server that listens when its credentials say so. Those of its own that do read
 * the files themselves, and close the door when a file is gone or does not fit; see docs/adr/014.
 */
export class TlsCredentials extends ServerCredentials {
  constructor(certificates: Certificates) {
    const demands = certificates.clientCa !== undefined;
    const options = {
      requestCert: demands,
      rejectUnauthorized: demands,
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    };
    super(options, tlsContextOf(certificates));
  }

  /**
   * From now on new connections get these; those that are open live on. Whether clients must show a certificate stays as
   * it was.
   */
  use(certificates: Certificates): void {
    this.updateSecureContextOptions(tlsContextOf(certificates));
  }

  _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}

/** The version stands here, not above: it belongs to the context, and each new one would go back to Node's default. */
export function tlsContextOf({ cert, key, clientCa }: Certificates): SecureContextOptions {
  return { cert, key, ca: clientCa, minVersion: OLDEST_VERSION, ciphers: ciphers() };
}

/** A list that Node was given (`--tls-cipher-list`) is kept. */
function ciphers(): string {
  return DEFAULT_CIPHERS === constants.defaultCoreCipherList ? FORWARD_SECRET : DEFAULT_CIPHERS;
}
