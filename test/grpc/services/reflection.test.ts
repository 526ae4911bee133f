/** Server reflection, v1 and v1alpha: a tool that knows nothing finds the services, and can put their descriptors together. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { create, createFileRegistry, type DescMessage, fromBinary } from '@bufbuild/protobuf';
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { Client, credentials, Metadata, status } from '@grpc/grpc-js';
import {
  ServerReflectionRequest,
  ServerReflectionResponse,
} from '../../../src/grpc/gen/grpc/reflection/v1/reflection.js';
import { OWN_CONNECTION, type Sidecar, startSidecar } from '../../support/sidecar.js';
import { FakeCoordinator } from '../fake-coordinator.js';

type Asked = NonNullable<ServerReflectionRequest['messageRequest']>;
type Answer = NonNullable<ServerReflectionResponse['messageResponse']>;

/** A stream of reflection, of one of the two versions: their messages are the same on the wire. */
function reflection(t: TestContext, { address }: Sidecar, version: string) {
  const client = new Client(address, credentials.createInsecure(), OWN_CONNECTION);
  const stream = client.makeBidiStreamRequest(
    `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
    (sent: ServerReflectionRequest) => Buffer.from(ServerReflectionRequest.encode(sent).finish()),
    (received: Buffer) => ServerReflectionResponse.decode(received),
    new Metadata(),
  );
  t.after(() => {
    stream.on('error', () => {});
    client.close();
  });
  const ask = async (messageRequest: Asked | undefined): Promise<Answer> => {
    stream.write({ host: 'h', messageRequest });
    const [response]: ServerReflectionResponse[] = await once(stream, 'data');
    assert.deepEqual(response?.originalRequest?.messageRequest, messageRequest);
    assert.ok(response?.messageResponse);
    return response.messageResponse;
  };
  return { stream, ask };
}

/** A pool of descriptors from one answer and nothing else; it throws when a file or a type is missing. */
function poolOf(answer: Answer) {
  assert.ok(answer.$case === 'fileDescriptorResponse', JSON.stringify(answer));
  const files = answer.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
  // A pool takes what is imported first.
  const file = new Set<FileDescriptorProto>();
  const add = (one: FileDescriptorProto): void => {
    for (const other of files) if (one.dependency.includes(other.name) && !file.has(other)) add(other);
    file.add(one);
  };
  files.forEach(add);
  return createFileRegistry(create(FileDescriptorSetSchema, { file: [...file] }));
}

/** Every message that can be in this one. */
function messagesIn(message: DescMessage, found = new Set<string>()): Set<string> {
  if (found.has(message.typeName)) return found;
  found.add(message.typeName);
  for (const field of message.fields) if (field.message) messagesIn(field.message, found);
  return found;
}

const SERVED = [
  'grpc.health.v1.Health',
  'grpc.reflection.v1.ServerReflection',
  'grpc.reflection.v1alpha.ServerReflection',
  'keyturn.v1.AdminService',
  'keyturn.v1.CoordinatorService',
  'keyturn.v1.LeaderService',
];

for (const version of ['v1', 'v1alpha']) {
  test(`a pool of descriptors is built from each answer of reflection ${version}`, async (t) => {
    const sidecar = await startSidecar(t, new FakeCoordinator());
    const { stream, ask } = reflection(t, sidecar, version);
    const listed = await ask({ $case: 'listServices', value: '*' });
    assert.ok(listed.$case === 'listServicesResponse');
    const names = listed.value.service.map(({ name }) => name);
    assert.deepEqual(names.toSorted(), SERVED);

    for (const name of names) {
      const pool = poolOf(await ask({ $case: 'fileContainingSymbol', value: name }));
      const service = pool.getService(name);
      assert.ok(service && service.methods.length > 0, name);
      for (const { input, output } of service.methods) assert.ok(messagesIn(input).size + messagesIn(output).size > 1);
    }
    const pool = poolOf(await ask({ $case: 'fileByFilename', value: 'keyturn/v1/coordinator.proto' }));
    const asked = pool.getMessage('keyturn.v1.EnQueueRequest');
    assert.ok(asked && messagesIn(asked).has('google.protobuf.Duration'));
    assert.equal(pool.getMessage('keyturn.v1.NewItem')?.field['headers']?.fieldKind, 'map');
    stream.end();
    await once(stream, 'end');
  });
}

const SYMBOLS = {
  'a message': 'keyturn.v1.NewItem',
  'a field': 'keyturn.v1.NewItem.key',
  'a oneof': 'keyturn.v1.DeQueueRequest.holder',
  'an enum': 'keyturn.v1.Decision',
  'a value of an enum': 'keyturn.v1.DECISION_ACCEPT',
  'a method': 'keyturn.v1.AdminService.WatchEvents',
  'a detail of errors': 'google.rpc.ErrorInfo',
  'a nested message': 'google.rpc.BadRequest.FieldViolation',
};

test('the file of every kind of symbol is found', async (t) => {
  const { ask } = reflection(t, await startSidecar(t, new FakeCoordinator()), 'v1');
  for (const [what, symbol] of Object.entries(SYMBOLS)) {
    const pool = poolOf(await ask({ $case: 'fileContainingSymbol', value: symbol }));
    assert.ok([...pool.files].length > 0, what);
  }
});

const UNKNOWN: readonly (readonly [Asked | undefined, status])[] = [
  [{ $case: 'fileContainingSymbol', value: 'keyturn.v1.Nope' }, status.NOT_FOUND],
  [{ $case: 'fileContainingSymbol', value: '__proto__' }, status.NOT_FOUND],
  [{ $case: 'fileContainingSymbol', value: '' }, status.NOT_FOUND],
  [{ $case: 'fileByFilename', value: 'constructor' }, status.NOT_FOUND],
  [
    { $case: 'fileContainingExtension', value: { containingType: 'keyturn.v1.NewItem', extensionNumber: 1 } },
    status.NOT_FOUND,
  ],
  [{ $case: 'allExtensionNumbersOfType', value: 'keyturn.v1.Nope' }, status.NOT_FOUND],
  [undefined, status.INVALID_ARGUMENT],
];

test('what is not there is an error in the answer, and the stream goes on', async (t) => {
  const { ask } = reflection(t, await startSidecar(t, new FakeCoordinator()), 'v1');
  for (const [asked, code] of UNKNOWN) {
    const answer = await ask(asked);
    assert.ok(answer.$case === 'errorResponse', JSON.stringify(asked));
    assert.equal(answer.value.errorCode, code, answer.value.errorMessage);
  }
  const numbers = await ask({ $case: 'allExtensionNumbersOfType', value: 'keyturn.v1.NewItem' });
  assert.ok(numbers.$case === 'allExtensionNumbersResponse');
  assert.deepEqual(numbers.value.extensionNumber, []);
});

test('an open stream of reflection does not hold up a stop', async (t) => {
  const sidecar = await startSidecar(t, new FakeCoordinator());
  const { stream, ask } = reflection(t, sidecar, 'v1');
  await ask({ $case: 'listServices', value: '' });
  const ended = once(stream, 'end');
  await sidecar.server.stop(60_000);
  await ended;
});
