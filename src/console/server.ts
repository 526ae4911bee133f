/**
 * The console: a page for people, and the calls behind it, at an address of its own. Whoever comes may ask what their credentials
 * allow, and nothing by the sidecar's own right. While nobody looks it costs nothing.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Cluster, Coordinator, Desk } from '../coordinator.js';
import { report } from '../grpc/call/handler.js';
import type { Access } from '../grpc/server/server.js';
import { type Certificates, tlsContextOf } from '../grpc/server/tls-credentials.js';
import { isOurs } from '../http/own-host.js';
import { Places } from '../http/places.js';
import { changes } from '../observability/admin-changes.js';
import type { Api, ApiOptions } from './api.js';
import { guard, tellText } from './headers.js';
import { LoginPaths, methodNotAllowed } from './login.js';
import { Logins } from './logins.js';
import { foreign, showsToken } from './origin.js';
import { Page } from './page.js';
import { tellForeign, tellRefusal } from './problem.js';
import { fromOf, shownBy, type Viewer, Viewers } from './viewer.js';

export interface ConsoleOptions extends Omit<ApiOptions, 'goesOn'> {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Names under which people open it, besides those of this machine and of its address. */
  readonly names: readonly string[];
  readonly coordinator: Coordinator;
  /** Unset: this sidecar stands alone. */
  readonly cluster: Cluster | undefined;
  /** What the sidecar tells of itself. Unset: nothing. */
  readonly desk?: Desk | undefined;
  readonly version: string;
  /** Set: TLS only. */
  readonly certificates: Certificates | undefined;
  /** Unset: nobody is asked who they are. */
  readonly access: Access | undefined;
  /** Where the files of the page are; default: where the build puts them. */
  readonly page?: URL;
}

export interface ConsoleServer {
  readonly port: number;
  /** For new connections. */
  useCertificates(certificates: Certificates): void;
  /** Ends what shows something to those whose credentials do not hold any more. */
  endRevoked(): void;
  /** Ends everything now. */
  forceStop(): void;
}

const MOST_CONNECTIONS = 256;
const LIMITS = {
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  keepAliveTimeout: 30_000,
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 16_384,
} as const;
/** Whoever connects and does not shake hands. Node waits for two minutes. */
const HANDSHAKE_TIMEOUT_MS = 5_000;
const API = '/keyturn.v1.';
/** Of a path, to the audit: the longest of a call has half of it. */
const LONGEST_TOLD = 128;

/** Rejects when the address is in use or not usable. */
export async function startConsole(options: ConsoleOptions): Promise<ConsoleServer> {
  const { certificates } = options;
  let handle: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
  const listener = (request: IncomingMessage, response: ServerResponse) => handle?.(request, response);
  const secure = certificates && createTlsServer({ ...LIMITS, ...demandsOf(certificates) }, listener);
  const server = secure ?? createServer(LIMITS, listener);
  const places = new Places(MOST_CONNECTIONS);
  places.of(server);
  const port = await listen(server, options);
  const house = new House(options, port, places);
  handle = (request, response) => void house.handle(request, response);
  return {
    port,
    useCertificates: (fresh) => secure?.setSecureContext(tlsContextOf(fresh)),
    endRevoked: () => house.endRevoked(),
    forceStop() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function demandsOf(certificates: Certificates): object {
  const demands = certificates.clientCa !== undefined;
  return {
    ...tlsContextOf(certificates),
    requestCert: demands,
    rejectUnauthorized: demands,
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
  };
}

function listen(server: Server, { host, port, log }: ConsoleOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      server.on('error', (error) => log.error({ err: error }, 'the server of the console failed'));
      const address = server.address();
      if (address === null || typeof address === 'string') reject(new Error('the console has no port'));
      else resolve(address.port);
    });
  });
}

class House {
  readonly #names: ReadonlySet<string>;
  readonly #logins: Logins;
  readonly #viewers: Viewers;
  readonly #login: LoginPaths;
  readonly #page: Page;
  #api: Promise<Api> | undefined;
  #opened: Api | undefined;

  constructor(
    private readonly options: ConsoleOptions,
    port: number,
    private readonly places: Places,
  ) {
    const { access, coordinator, cluster, names, host, version } = options;
    const authenticator = access?.authenticator;
    // Cookies are shared by all ports of a host, and several sidecars may serve one.
    // Over TLS the name says that it is no other host's, nor one that somebody listening along could have set.
    const cookie = `${options.certificates === undefined ? '' : '__Host-'}keyturn_console_${port}`;
    this.#names = new Set([host, ...names].map((name) => name.toLowerCase()));
    this.#logins = new Logins((principal) => authenticator?.holds(principal) === true);
    this.#viewers = new Viewers(coordinator, cluster, authenticator, this.#logins, cookie, options.desk);
    this.#page = new Page(options.page);
    this.#login = new LoginPaths({
      viewers: this.#viewers,
      logins: this.#logins,
      authenticator,
      refused: access?.refused,
      cookie,
      version,
    });
  }

  endRevoked(): void {
    this.#opened?.endRevoked();
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // One after the other: who sent ahead is not told when the connection ends, and what they began would go on for nobody.
    if (response.socket === null) await once(response, 'socket');
    if (request.socket.destroyed) return;
    guard(response);
    // A body that nobody reads would keep the connection from being used again.
    response.once('close', () => request.resume());
    try {
      await this.#answer(request, response);
    } catch (error) {
      const id = report(this.options, 'console', error);
      if (response.headersSent) request.socket.destroy();
      else tellText(response, 500, `internal error ${id}; the sidecar's log says more under this id`);
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = request;
    const path = url.split('?', 1)[0] ?? '';
    if (!isOurs(request, this.#names))
      return tellText(
        response,
        421,
        'The console is not served under this name. Open it by localhost or by its address, or add the name to console_hosts.',
      );
    if (path.startsWith(API)) return this.#call(request, response, path);
    if (path === '/login' || path === '/logout') return this.#enter(request, response, path);
    if (method !== 'GET' && method !== 'HEAD') return methodNotAllowed(response, 'GET, HEAD');
    if (path === '/session') {
      const why = foreign(request, false);
      return why === undefined ? this.#login.session(request, response) : tellForeign(response, why);
    }
    return this.#page.serve(request, response, path);
  }

  async #enter(request: IncomingMessage, response: ServerResponse, path: '/login' | '/logout'): Promise<void> {
    if (request.method !== 'POST') return methodNotAllowed(response, 'POST');
    const why = foreign(request, true);
    if (why !== undefined) return tellForeign(response, why);
    if (path === '/login') await this.#login.login(request, response);
    else this.#login.logout(request, response);
    // A new login ends the one before.
    this.endRevoked();
  }

  async #call(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    if (request.method !== 'POST') return methodNotAllowed(response, 'POST');
    const why = foreign(request, changes(path) && !showsToken(request));
    if (why !== undefined) return tellForeign(response, why);
    const found = await this.#viewers.of(request);
    if (!found.ok) {
      const { refusal } = found;
      // A page that nobody has logged in to is no attempt to get in.
      if (refusal.kind === 'no_credentials' && request.headers.authorization !== undefined)
        this.options.access?.refused(
          shownBy(request),
          fromOf(request),
          path.slice(0, LONGEST_TOLD),
          refusal.description,
        );
      return tellRefusal(response, 401, refusal);
    }
    const api = await this.#opening();
    if (!request.socket.destroyed)
      api.serve(request, response, path, { ...found.viewer, stays: () => this.places.stays(request) });
  }

  /** With the first call: most consoles are never opened. */
  #opening(): Promise<Api> {
    const goesOn = (viewer: Viewer) => this.#viewers.goesOn(viewer);
    this.#api ??= import('./api.js')
      .then(({ Api }) => Api.open({ ...this.options, goesOn }))
      .then((api) => {
        this.#opened = api;
        return api;
      })
      .catch((error: unknown) => {
        // The next one tries again: too many files may have been open.
        this.#api = undefined;
        throw error;
      });
    return this.#api;
  }
}
