/** TLS of the server: what it demands of clients, and its certificate, which can be replaced while it runs. */
import type { SecureContextOptions } from 'node:tls';
import { ServerCredentials } from '@grpc/grpc-js';

/** PEM. They fit each other: whoever hands them over has looked. */
export interface Certificates {
  /** The server's own, and those between it and its authority. */
  readonly cert: Buffer;
  readonly key: Buffer;
  /** Set: clients must show a certificate of one of these authorities. */
  readonly clientCa: Buffer | undefined;
}

const OLDEST_VERSION = 'TLSv1.2';
/** A stranger who connects and says nothing is let go after this. Node's own is two minutes. */
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
    super(options, contextOf(certificates));
  }

  /**
   * From now on new connections get these; those that are open live on. Whether clients must show a certificate stays as
   * it was.
   */
  use(certificates: Certificates): void {
    this.updateSecureContextOptions(contextOf(certificates));
  }

  _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}

/** The version stands here, not above: it belongs to the context, and each new one would go back to Node's default. */
function contextOf({ cert, key, clientCa }: Certificates): SecureContextOptions {
  return { cert, key, ca: clientCa, minVersion: OLDEST_VERSION };
}
