/**
 * TLS of the connection, in place of grpc-js's own: that gives an IP address as the name of the server, which no client
 * may (Node warns of it in the application's log, and will ignore it), and waits for a handshake for ever.
 */
import { isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { CallCredentials, ChannelCredentials, type experimental } from '@grpc/grpc-js';
import { systemClock } from '../time/clock.js';
import { TLS_REFUSAL } from '../wire/connection-failure.js';
import type { TlsSettings } from './tls-options.js';

/** On one host a handshake takes milliseconds. */
const HANDSHAKE_TIMEOUT_MS = 10_000;
const PROTOCOL = 'h2';

export class TlsCredentials extends ChannelCredentials {
  constructor(
    private readonly settings: TlsSettings,
    /** The host that is connected to; `localhost` for a Unix socket. */
    private readonly host: string,
  ) {
    super();
  }

  _isSecure(): boolean {
    return true;
  }

  _equals(other: ChannelCredentials): boolean {
    return this === other;
  }

  _createSecureConnector(
    _target: unknown,
    _options: unknown,
    callCredentials: CallCredentials = CallCredentials.createEmpty(),
  ): experimental.SecureConnector {
    const { settings } = this;
    const name = settings.serverName ?? this.host;
    // The name is checked in both cases; only one that is no address may be told to the server.
    const named = isIP(name) === 0 ? { host: name, servername: name } : { host: name };
    const optionsNow = () => ({ secureContext: settings.context(), ALPNProtocols: [PROTOCOL], ...named });
    return new Connector(optionsNow, callCredentials);
  }
}

class Connector implements experimental.SecureConnector {
  /** In a handshake; each ends within {@link HANDSHAKE_TIMEOUT_MS}. */
  readonly #pending = new Set<TLSSocket>();

  constructor(
    /** For each connection anew: certificates are replaced meanwhile. */
    private readonly optionsNow: () => ConnectionOptions,
    private readonly callCredentials: CallCredentials,
  ) {}

  async connect(socket: Socket): Promise<experimental.SecureConnectResult> {
    const tls = connect({ ...this.optionsNow(), socket });
    this.#pending.add(tls);
    try {
      await handshake(tls);
      return { socket: tls, secure: true };
    } catch (error) {
      tls.destroy();
      throw error;
    } finally {
      this.#pending.delete(tls);
    }
  }

  waitForReady(): Promise<void> {
    return Promise.resolve();
  }

  getCallCredentials(): CallCredentials {
    return this.callCredentials;
  }

  /** The channel was closed: its handshakes must not keep the process alive. */
  destroy(): void {
    for (const tls of this.#pending) tls.destroy();
  }
}

function handshake(tls: TLSSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (why?: string) => {
      stopTimer();
      tls.off('close', closed);
      if (why === undefined) resolve();
      else reject(new TlsFailure(why));
    };
    const closed = () => settle('it closed the connection during the handshake');
    const stopTimer = systemClock.after(HANDSHAKE_TIMEOUT_MS, () =>
      settle(`no handshake in ${HANDSHAKE_TIMEOUT_MS} ms`),
    );
    tls.once('close', closed);
    // It stays: what goes wrong later is told by the layer above, and must not be uncaught here.
    tls.on('error', (error: Error) => settle(error.message));
    tls.once('secureConnect', () =>
      settle(tls.alpnProtocol === PROTOCOL ? undefined : 'it does not speak HTTP/2 over TLS'),
    );
  });
}

/** grpc-js makes text of it, in which {@link TLS_REFUSAL} is found again. */
class TlsFailure extends Error {
  override readonly name = TLS_REFUSAL;
}
