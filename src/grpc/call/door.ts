/**
 * Lets a call in when it is known whose it is. A call that is not let in reaches no handler, no message of it is read, and
 * it is told why. A connection that brings such calls when many were refused a moment ago is closed: to refuse costs time, too.
 */
import { type Metadata, ServerInterceptingCall, type ServerInterceptingCallInterface } from '@grpc/grpc-js';
import { Pace } from '../../access/allowance.js';
import type { Authenticator, Identified } from '../../access/authenticator.js';
import { PermittedPort } from '../../access/permitted-port.js';
import type { Principal, Shown } from '../../access/principal.js';
import type { Cluster, Coordinator, Desk } from '../../coordinator.js';
import { http2StreamOf } from './http2-stream.js';
import type { Port } from './port.js';
import { showOf } from './shown.js';
import { type CallStatus, statusOf } from './status.js';
import type { Guard } from './transport.js';

/** Told of every call that was not let in. */
export type Refused = (shown: Shown, from: string, path: string, why: string) => void;

/** A probe has no credentials, and learns no more than that somebody serves. */
const OPEN_TO_ALL = '/grpc.health.v1.Health/Check';

/** So many calls a second are refused over all connections, and told why. */
const REFUSED_PER_SECOND = 1_000;
/** So many of one connection are beyond that before it is closed: others may just begin on it. */
const MOST_BEYOND = 20;

export class Door {
  readonly #principals = new WeakMap<object, Principal>();
  readonly #ports = new WeakMap<Principal, Port>();
  /** Connections on which somebody was let in: others may be behind them, and they stay. */
  readonly #known = new WeakSet<object>();
  readonly #refusals = new Pace(REFUSED_PER_SECOND);
  /** Of connections on which nobody was let in. */
  readonly #beyond = new WeakMap<object, number>();

  constructor(
    private readonly authenticator: Authenticator,
    private readonly coordinator: Coordinator,
    private readonly cluster: Cluster | undefined,
    private readonly refused: Refused,
    private readonly desk?: Desk,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** @throws Error: the call was not let in by this door */
  readonly portOf = (call: object): Port => {
    const principal = this.#principalOf(call);
    if (principal === undefined) throw new Error('a call of nobody reached a handler');
    const known = this.#ports.get(principal);
    if (known !== undefined) return known;
    const port = new PermittedPort(this.coordinator, this.cluster, principal, this.desk);
    this.#ports.set(principal, port);
    return port;
  };

  /** Whose call it is; unset: it was not let in by this door. */
  readonly nameOf = (call: object): string | undefined => this.#principalOf(call)?.name;

  /** Why an open stream must end; unset: it may go on. */
  whyEnd(call: object): CallStatus | undefined {
    const principal = this.#principalOf(call);
    if (principal === undefined || this.authenticator.holds(principal)) return undefined;
    const description = `what ${principal.name} showed when this stream began does not hold any more: it was taken away, or its time is over`;
    return statusOf({ kind: 'no_credentials', description });
  }

  readonly guard: Guard = ({ path }, call) =>
    path === OPEN_TO_ALL
      ? undefined
      : new ServerInterceptingCall(call, {
          start: (next) => next({ onReceiveMetadata: (metadata, go) => this.#enter(call, path, metadata, go) }),
        });

  #enter(
    call: ServerInterceptingCallInterface,
    path: string,
    metadata: Metadata,
    go: (metadata: Metadata) => void,
  ): void {
    const shown = showOf(call, metadata);
    const decide = (identified: Identified): void => {
      const stream = http2StreamOf(call);
      if (identified.ok) {
        if (stream !== undefined) this.#principals.set(stream, identified.value);
        if (stream?.session !== undefined) this.#known.add(stream.session);
        // From here on nobody needs it, and nothing that is logged or thrown can show it.
        metadata.remove('authorization');
        go(metadata);
        return;
      }
      const { refusal } = identified;
      if (this.#refusals.take(this.now()) > 0 && this.#isTooMuch(stream?.session)) {
        stream?.session?.destroy();
        return;
      }
      this.refused(shown, call.getPeer(), path, refusal.kind === 'no_credentials' ? refusal.description : refusal.kind);
      call.sendStatus(statusOf(refusal));
    };
    const identified = this.authenticator.identify(shown);
    if (!(identified instanceof Promise)) decide(identified);
    else
      identified.then(decide, () => {
        decide({
          ok: false,
          refusal: { kind: 'no_credentials', description: 'the signed token could not be verified' },
        });
      });
  }

  #isTooMuch(session: object | undefined): boolean {
    if (session === undefined || this.#known.has(session)) return false;
    const beyond = (this.#beyond.get(session) ?? 0) + 1;
    this.#beyond.set(session, beyond);
    return beyond > MOST_BEYOND;
  }

  #principalOf(call: object): Principal | undefined {
    const stream = http2StreamOf(call);
    return stream && this.#principals.get(stream);
  }
}
