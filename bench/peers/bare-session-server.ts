/** The peer of sessions: a bidirectional stream of grpc-js with our codec, whose handler answers and does nothing else. */
import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import {
  type Command,
  CoordinatorServiceService,
  type Reply,
  type SessionRequest,
  SessionResponse,
} from '../../src/grpc/gen/keyturn/v1/coordinator.js';

// A reply of each kind, in base64. Decoded, so that it is encoded anew for each command, as a real one is.
const { replies } = SessionResponse.decode(Buffer.from(process.argv[2] ?? '', 'base64'));
const outcomes = new Map(replies.flatMap(({ outcome }) => (outcome === undefined ? [] : [[outcome.$case, outcome]])));

function answer(call: ServerDuplexStream<SessionRequest, SessionResponse>): void {
  // As many replies in a message as there were commands in theirs.
  call.on('data', ({ commands }: SessionRequest) => call.write({ replies: commands.map(replyTo), notices: [] }));
  call.on('end', () => call.end());
  // Who measures goes away when it has measured.
  call.on('error', () => {});
}

function replyTo({ id, call }: Command): Reply {
  return { id, outcome: call && outcomes.get(call.$case) };
}

const { path, responseSerialize, requestDeserialize } = CoordinatorServiceService.session;
const server = new Server();
server.register(path, answer, responseSerialize, requestDeserialize, 'bidi');
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  process.stdout.write(`${JSON.stringify({ grpc: `127.0.0.1:${port}` })}\n`);
});
process.once('SIGTERM', () => process.exit(0));
