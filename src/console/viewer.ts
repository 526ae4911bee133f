/** Who looks: by a token with the call, by a login, by a certificate, or whoever reaches us where nobody is asked. */
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { type Authenticator, isLoopback } from '../access/authenticator.js';
import { PermittedPort } from '../access/permitted-port.js';
import type { Principal, Shown } from '../access/principal.js';
import type { Cluster, Coordinator, Desk, Refusal } from '../coordinator.js';
import { namesIn } from '../grpc/call/names-in.js';
import { type Port, wholePort } from '../grpc/call/port.js';
import type { Login, Logins } from './logins.js';

export interface Viewer {
  /** Unset: nobody is asked who they are. */
  readonly principal: Principal | undefined;
  /** What they may ask, and no more: never what the sidecar itself may. */
  readonly port: Port;
  /** Address and port, as the audit writes it. */
  readonly from: string;
  /** Set: it goes on for as long as this does. */
  readonly login: Login | undefined;
}

type Identified = { readonly ok: true; readonly viewer: Viewer } | { readonly ok: false; readonly refusal: Refusal };

export class Viewers {
  readonly #ports = new WeakMap<Principal, Port>();
  readonly #whole: Port;

  constructor(
    private readonly coordinator: Coordinator,
    private readonly cluster: Cluster | undefined,
    private readonly authenticator: Authenticator | undefined,
    private readonly logins: Logins,
    private readonly cookie: string,
    private readonly desk: Desk | undefined,
  ) {
    this.#whole = wholePort(coordinator, cluster, desk);
  }

  get areAsked(): boolean {
    return this.authenticator !== undefined;
  }

  /** A token decides before a login: who shows one is not somebody else because of what the browser kept. */
  async of(request: IncomingMessage): Promise<Identified> {
    const { authenticator } = this;
    if (authenticator === undefined) return this.#let(request, undefined, undefined);
    const shown = shownBy(request);
    const id = shown.authorization.length === 0 ? this.#loginOf(request) : undefined;
    const login = id === undefined ? undefined : this.logins.use(id);
    if (login !== undefined) return this.#let(request, login.principal, login);
    const identified = await authenticator.identify(shown);
    return identified.ok ? this.#let(request, identified.value, undefined) : identified;
  }

  #let(request: IncomingMessage, principal: Principal | undefined, login: Login | undefined): Identified {
    const port = principal === undefined ? this.#whole : this.#portOf(principal);
    return { ok: true, viewer: { principal, port, from: fromOf(request), login } };
  }

  /** What was opened with it may go on. */
  goesOn({ principal, login }: Viewer): boolean {
    if (principal === undefined || this.authenticator === undefined) return true;
    return login === undefined ? this.authenticator.holds(principal) : this.logins.goesOn(login);
  }

  /** What the browser holds of logins, whether there are such or not. */
  loginsOf({ headers }: IncomingMessage): readonly string[] {
    const found = [];
    for (const part of (headers.cookie ?? '').split(';')) {
      const [name, value] = part.trim().split('=', 2);
      if (name === this.cookie && value !== undefined && value !== '') found.push(value);
    }
    return found;
  }

  /**
   * Of more than one nobody knows which it is: whoever serves something at another port of this host may have added theirs, and what
   * is done would be done, and told to the audit, as somebody else.
   */
  #loginOf(request: IncomingMessage): string | undefined {
    const [id, ...more] = this.loginsOf(request);
    return more.length === 0 ? id : undefined;
  }

  #portOf(principal: Principal): Port {
    const known = this.#ports.get(principal);
    if (known !== undefined) return known;
    const port = new PermittedPort(this.coordinator, this.cluster, principal, this.desk);
    this.#ports.set(principal, port);
    return port;
  }
}

/** What of a request says who makes it. */
export function shownBy({ headersDistinct, socket }: IncomingMessage): Shown {
  const certificate = socket instanceof TLSSocket && socket.authorized ? socket.getPeerCertificate() : undefined;
  return {
    authorization: headersDistinct['authorization'] ?? [],
    sans: namesIn(certificate?.subjectaltname ?? ''),
    isUnix: false,
    isPrivate: isPrivate(socket),
  };
}

function isPrivate(socket: IncomingMessage['socket']): boolean {
  return socket instanceof TLSSocket || isLoopback(socket.remoteAddress ?? '');
}

export function fromOf({ socket: { remoteAddress = 'unknown', remotePort } }: IncomingMessage): string {
  return remoteAddress.includes(':') ? `[${remoteAddress}]:${remotePort}` : `${remoteAddress}:${remotePort}`;
}
