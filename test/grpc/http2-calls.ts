/** Calls over a bare HTTP/2 client, which reads no faster than it is told. */
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { EnQueueRequest } from '../../src/grpc/gen/keyturn/v1/coordinator.js';
import { message } from '../support/sidecar.js';

const PATH = '/keyturn.v1.CoordinatorService/EnQueue';

export function enQueueOver(session: ClientHttp2Session, key: string): ClientHttp2Stream {
  const bytes = EnQueueRequest.encode(message(EnQueueRequest, { queue: 'q', key })).finish();
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes.length, 1);
  const stream = session.request({
    ':method': 'POST',
    ':path': PATH,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  stream.on('error', () => {}); // A reset is one.
  stream.end(Buffer.concat([head, bytes]));
  return stream;
}
