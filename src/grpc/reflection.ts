/** Server reflection, v1 and v1alpha, so that grpcurl and its like need no proto files. */
import { fileURLToPath } from 'node:url';
import type { Server } from '@grpc/grpc-js';
import { load } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import { protoPath as healthProto } from 'grpc-health-check';

/** From dist/src/grpc; the package ships both folders. */
const PROTO_ROOT = fileURLToPath(new URL('../../../proto', import.meta.url));

/** Rejects when the proto files are not where the package has them. */
export async function addReflection(server: Server): Promise<void> {
  // ErrorInfo and its like travel in details that only name their type; a tool asks here for what they are.
  const files = ['keyturn/v1/coordinator.proto', 'keyturn/v1/admin.proto', 'google/rpc/error_details.proto'];
  const definition = await load([...files, healthProto], { includeDirs: [PROTO_ROOT] });
  new ReflectionService(definition).addToServer(server);
}
