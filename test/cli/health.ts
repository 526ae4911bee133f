/** The standard health check, asked as a load balancer asks it. */
import assert from 'node:assert/strict';
import { credentials, makeClientConstructor } from '@grpc/grpc-js';
import { service } from 'grpc-health-check';

/** `SERVING` or `NOT_SERVING`. */
export function healthOf(address: string, name = ''): Promise<string> {
  const Health = makeClientConstructor(service, 'grpc.health.v1.Health');
  const client = new Health(address, credentials.createInsecure());
  return new Promise<string>((resolve, reject) => {
    const done = (error: Error | null, answer: { readonly status: string }) =>
      error ? reject(error) : resolve(answer.status);
    const { check = assert.fail('the client has no Check') } = client;
    check.call(client, { service: name }, done);
  }).finally(() => client.close());
}
