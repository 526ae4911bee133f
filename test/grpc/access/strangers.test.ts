/** S609: calls of nobody take no more than their share of the time, however many connections bring them. */
import assert from 'node:assert/strict';
import { connect } from 'node:http2';
import { test } from 'node:test';
import { EnQueueRequest } from '../../../src/grpc/gen/keyturn/v1/coordinator.js';
import { call, message } from '../../support/sidecar.js';
import { failureOf } from '../errors.js';
import { stage } from './two-principals.js';

const MOST = 1_000;
const PATH = '/keyturn.v1.CoordinatorService/EnQueue';

/** Calls without a token over one connection. @returns how many were told why, in the order of the connections */
async function knock(address: string, times: number): Promise<number> {
  const session = connect(`http://${address}`);
  session.on('error', () => {});
  let told = 0;
  const ended = Array.from({ length: times }, () => {
    const stream = session.request({
      ':method': 'POST',
      ':path': PATH,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    stream.on('response', (headers) => {
      if (headers['grpc-status'] === '16') told += 1;
    });
    stream.on('trailers', (trailers) => {
      if (trailers['grpc-status'] === '16') told += 1;
    });
    stream.on('error', () => {});
    stream.resume();
    stream.end();
    return new Promise((resolve) => stream.on('close', resolve));
  });
  await Promise.all(ended);
  session.destroy();
  return told;
}

test('beyond 1,000 a second the connection that brings one is closed, and those who are known are served', async (t) => {
  let now = 0;
  const { address, raw, metadata } = await stage(t, undefined, () => now);
  const request = { ...message(EnQueueRequest), queue: 'q', key: 'k' };
  const served = () => call(raw, raw.enQueue, request, 10_000, metadata('ada'));
  await served();
  assert.equal(await knock(address, 600), 600);
  // Up to 20 of a connection are told beyond that.
  assert.ok((await knock(address, 600)) <= MOST - 600 + 20);
  assert.equal(await knock(address, 10), 10);
  assert.ok((await knock(address, 100)) <= 20);
  await served();
  // A connection on which somebody is known is not closed: others may be behind it.
  assert.equal((await failureOf(call(raw, raw.enQueue, request, 10_000, metadata('nobody')))).code, 'UNAUTHENTICATED');
  await served();
  now += 1_000;
  assert.equal(await knock(address, 10), 10);
});
