/** The peer of unary calls: grpc-js with its defaults, our codec and messages, and a handler that does nothing. */
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { CoordinatorServiceService, EnQueueResponse } from '../../src/grpc/gen/keyturn/v1/coordinator.js';

// The message in base64. Decoded, so that it is encoded anew for each call, as a real answer is.
const answer = EnQueueResponse.decode(Buffer.from(process.argv[2] ?? '', 'base64'));

const server = new Server();
server.register(
  CoordinatorServiceService.enQueue.path,
  (_: unknown, callback: (error: null, message: EnQueueResponse) => void) => callback(null, answer),
  CoordinatorServiceService.enQueue.responseSerialize,
  CoordinatorServiceService.enQueue.requestDeserialize,
  'unary',
);
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  process.stdout.write(`${JSON.stringify({ grpc: `127.0.0.1:${port}` })}\n`);
});
process.once('SIGTERM', () => process.exit(0));
