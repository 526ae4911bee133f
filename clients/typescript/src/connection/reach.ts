import { type ServiceError, status } from '@grpc/grpc-js';
import { type ConnectionFailure, connectionFailure, type Security, SPEAKS_TLS } from '../wire/connection-failure.js';
import { serviceError } from '../wire/status.js';
import { KeyturnError, NO_DETAILS, TlsError } from '../words/errors.js';
import type { TlsProbe } from './tls-probe.js';

/** Why a sidecar cannot be reached, in words that name its address. One for a client. */
export class Reach {
  #hasStood = false;

  constructor(
    private readonly address: string,
    private readonly security: Security,
    private readonly tlsProbe: TlsProbe,
  ) {}

  /** The sidecar has answered. */
  stands(): void {
    this.#hasStood = true;
  }

  /**
   * The error of a call or of a stream. It is a TlsError only if there never was a connection: else certificates may just be
   * about to be replaced. Nor is it one before a second probe, seconds later, has found TLS again.
   */
  explained(error: ServiceError): KeyturnError | Promise<KeyturnError> {
    if (this.#hasStood || this.#failureOf(error)?.kind !== 'maybe_tls') return this.unprobed(error);
    return this.tlsProbe.ask().then((answer) => {
      if (answer === 'no') return this.unprobed(error);
      return this.#unreachable(answer === 'surely' ? SPEAKS_TLS : { ...SPEAKS_TLS, kind: 'maybe_tls' }, error);
    });
  }

  /** The same, without a look at the port. */
  unprobed(error: ServiceError): KeyturnError {
    const failure = this.#failureOf(error);
    return failure === undefined ? serviceError(error) : this.#unreachable(failure, error);
  }

  #failureOf(error: ServiceError): ConnectionFailure | undefined {
    return error.code === status.UNAVAILABLE ? connectionFailure(error.details, this.security) : undefined;
  }

  /** A call whose time was over while there was no connection. */
  overdue(error: KeyturnError): KeyturnError {
    const message = `${error.message}: cannot reach ${this.address}: no answer yet`;
    return new KeyturnError(message, error.code, error.reason, error.details, { cause: error.cause });
  }

  #unreachable({ message, kind }: ConnectionFailure, cause: ServiceError): KeyturnError {
    const told = `cannot reach ${this.address}: ${message}`;
    return kind === 'tls' && !this.#hasStood
      ? new TlsError(told, { cause })
      : new KeyturnError(told, 'UNAVAILABLE', '', NO_DETAILS, { cause });
  }
}
