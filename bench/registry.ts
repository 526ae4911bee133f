import type { Row } from './row.js';
import { choices } from './rows/choices.js';
import { clients } from './rows/clients.js';
import { console } from './rows/console.js';
import { core } from './rows/core.js';
import { designs } from './rows/designs.js';
import { dispatch } from './rows/dispatch.js';
import { durable } from './rows/durable.js';
import { durablepeers } from './rows/durablepeers.js';
import { expiry } from './rows/expiry.js';
import { failover } from './rows/failover.js';
import { forwarded } from './rows/forwarded.js';
import { growth } from './rows/growth.js';
import { handover } from './rows/handover.js';
import { hot } from './rows/hot.js';
import { leader } from './rows/leader.js';
import { memory } from './rows/memory.js';
import { openloop } from './rows/openloop.js';
import { recovery } from './rows/recovery.js';
import { redis } from './rows/redis.js';
import { rights } from './rows/rights.js';
import { scrape } from './rows/scrape.js';
import { session } from './rows/session.js';
import { socket } from './rows/socket.js';
import { stuck } from './rows/stuck.js';
import { tenmillion } from './rows/tenmillion.js';
import { tracing } from './rows/tracing.js';
import { unary } from './rows/unary.js';
import { waiting } from './rows/waiting.js';
import { workers } from './rows/workers.js';

/** All rows, in the order in which they run. A new row is a file in rows/ and a line here. */
export const ROWS: ReadonlyMap<string, Row> = new Map(
  Object.entries({
    core,
    growth,
    memory,
    unary,
    session,
    workers,
    socket,
    rights,
    clients,
    tracing,
    handover,
    dispatch,
    openloop,
    stuck,
    expiry,
    waiting,
    scrape,
    console,
    durable,
    durablepeers,
    recovery,
    choices,
    designs,
    forwarded,
    redis,
    failover,
    leader,
    hot,
    tenmillion,
  }),
);

/** Names for several rows at once. */
export const GROUPS: ReadonlyMap<string, readonly string[]> = new Map([['cluster', ['forwarded', 'redis']]]);
