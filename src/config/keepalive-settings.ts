/** The settings under `session_keepalive`. */
import type { SessionKeepalive } from '../core/contract/settings.js';
import { duration } from './kinds.js';
import type { Group } from './settings-table.js';

export const KEEPALIVE_DOC =
  'When a worker is silent though its connection stands (stopped, or cut off): its turns end at most `every` + `timeout` + the `ttl` of its session later.';

/** Pings more often than once a second find nothing sooner. */
const LEAST_MS = 1_000;
const MOST_MS = 3_600_000;

export const KEEPALIVE_GROUP: Group<SessionKeepalive> = {
  refusals: {},
  table: {
    every: {
      kind: duration(LEAST_MS, MOST_MS),
      doc: 'A client that has sent nothing for this long is sent a ping.',
    },
    timeout: {
      kind: duration(LEAST_MS, MOST_MS),
      doc: 'Without an answer to the ping within this time the connection is closed.',
    },
  },
};
