/** More connections than limits.connections. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EnQueueRequest } from '../../../src/grpc/gen/keyturn/v1/coordinator.js';
import { localCoordinator } from '../../support/local-coordinator.js';
import { SessionClient } from '../../support/session-client.js';
import { call, message, rawClients, startSidecar } from '../../support/sidecar.js';
import { until } from '../../support/until.js';
import { failureOf } from '../errors.js';

const ACCEPT = 1;
const enQueue = (key: string) => message(EnQueueRequest, { queue: 'q', key });

test('a connection beyond limits.connections is refused by name, and the others go on', async (t) => {
  const { address, raw, log } = await startSidecar(t, localCoordinator(t), { limits: { connections: 2 } });
  const { raw: second } = rawClients(t, address);
  const { raw: third } = rawClients(t, address);
  assert.equal((await call(raw, raw.enQueue, enQueue('a'))).decision, ACCEPT);
  assert.equal((await call(second, second.enQueue, enQueue('b'))).decision, ACCEPT);

  const failure = await failureOf(call(third, third.enQueue, enQueue('c')));
  assert.deepEqual([failure.code, failure.reason, failure.retryAfter], ['RESOURCE_EXHAUSTED', 'LIMIT', 1_000]);
  assert.equal(failure.quota[0]?.subject, 'connections');
  assert.match(failure.message, /no more than 2 connections \(limits\.connections\)/);
  assert.equal((await failureOf(new SessionClient(third).failed())).reason, 'LIMIT', 'a session too');
  assert.ok(log.some(({ level, message: said }) => level === 'warn' && /limits\.connections/.test(said)));

  assert.equal((await call(raw, raw.enQueue, enQueue('d'))).decision, ACCEPT);
  second.close();
  // The server hears of the end later than its client.
  let isIn = false;
  let isAsking = false;
  await until(() => {
    if (isAsking) return isIn;
    isAsking = true;
    void call(third, third.enQueue, enQueue('c')).then(
      () => {
        isIn = true;
      },
      () => {
        isAsking = false;
      },
    );
    return isIn;
  });
});
