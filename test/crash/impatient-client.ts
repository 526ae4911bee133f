/** A client whose calls go through the ledger, and that comes back soon after a crash. */

import { Keyturn } from '#client/client';
import { openConnection } from '#client/connection/connection';
import { grpcStreams } from '#client/session/grpc-stream';
import { DEFAULT_OPEN_LIMITS } from '#client/session/open-commands';
import { SessionTransport } from '#client/session/transport';
import { systemClock } from '#client/time/clock';
import { AdminCalls } from '#client/unary/admin';
import { UnaryTransport } from '#client/unary/transport';
import { idMaker } from '#client/words/ids';
import type { Chance } from '../sim/random.js';
import type { Ledger } from './ledger.js';
import { ObservedTransport } from './observed-transport.js';

/** As the real ones, but shorter: a life of the sidecar lasts about a second here. */
const BACK_OFF = { first: 20, max: 150 };

export interface ClientPlan {
  readonly name: string;
  readonly transport: 'session' | 'unary';
  /** How long its turns outlive a stream, ms. */
  readonly ttl: number;
}

export function impatientClient(address: string, plan: ClientPlan, ledger: Ledger, chance: Chance): Keyturn {
  const { name, ttl } = plan;
  const connection = openConnection(address);
  const random = () => chance.next();
  const newId = idMaker(name);
  const inner =
    plan.transport === 'unary'
      ? new UnaryTransport({ connection, clock: systemClock, consumerId: name, margin: undefined })
      : new SessionTransport(
          {
            address,
            sessionId: name,
            consumerId: name,
            ttl,
            margin: undefined,
            limits: DEFAULT_OPEN_LIMITS,
            backOff: BACK_OFF,
          },
          { clock: systemClock, random, newId, openStream: grpcStreams(connection) },
        );
  const transport = new ObservedTransport(inner, ledger);
  const admin = new AdminCalls(connection);
  return new Keyturn(address, transport, admin, () => connection.channel.close(), { random, newId });
}
