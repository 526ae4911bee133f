/** Server reflection, v1 and v1alpha: a tool that knows nothing finds the services and their whole descriptors. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { type ClientDuplexStream, credentials, makeGenericClientConstructor } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { startSidecar } from '../support/sidecar.js';
import { FakeCoordinator } from './fake-coordinator.js';

interface Answer {
  readonly list_services_response?: { readonly service: readonly { readonly name: string }[] };
  readonly file_descriptor_response?: { readonly file_descriptor_proto: readonly Buffer[] };
  readonly error_response?: unknown;
}

const library = dirname(createRequire(import.meta.url).resolve('@grpc/reflection/package.json'));

for (const version of ['v1', 'v1alpha']) {
  test(`reflection ${version} lists the services and gives their files`, async (t) => {
    const sidecar = await startSidecar(t, new FakeCoordinator());
    const proto = loadSync(join(library, `build/proto/grpc/reflection/${version}/reflection.proto`), {
      keepCase: true,
    });
    const definition = proto[`grpc.reflection.${version}.ServerReflection`];
    assert.ok(definition && !('format' in definition));
    const Reflection = makeGenericClientConstructor(definition, 'ServerReflection');
    const client = new Reflection(sidecar.address, credentials.createInsecure());
    t.after(() => client.close());
    const stream: ClientDuplexStream<object, Answer> = Reflect.apply(
      Reflect.get(client, 'ServerReflectionInfo'),
      client,
      [],
    );
    const ask = async (request: object): Promise<Answer> => {
      stream.write(request);
      const [answer] = await once(stream, 'data');
      return answer;
    };

    const listed = await ask({ list_services: '' });
    const names = listed.list_services_response?.service.map(({ name }) => name) ?? [];
    for (const name of ['keyturn.v1.CoordinatorService', 'keyturn.v1.AdminService', 'grpc.health.v1.Health']) {
      assert.ok(names.includes(name), `${name} in ${names}`);
    }
    for (const symbol of [
      'keyturn.v1.CoordinatorService',
      'keyturn.v1.AdminService.WatchEvents',
      'google.rpc.ErrorInfo',
    ]) {
      const { file_descriptor_response: files } = await ask({ file_containing_symbol: symbol });
      const text = Buffer.concat([...(files?.file_descriptor_proto ?? [])]).toString('latin1');
      assert.ok(text.includes(symbol.split('.').at(-1) ?? ''), symbol);
    }
    stream.end();
    await once(stream, 'end');
  });
}
