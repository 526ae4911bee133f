/**
 * Server reflection, v1 and v1alpha, so that grpcurl and its like need no proto files. The files are those that buf has
 * compiled at build time, byte for byte: a library that makes descriptors again out of what it loaded gave files that no
 * tool could put together.
 */
import { readFile } from 'node:fs/promises';
import { type handleBidiStreamingCall, type Server, type ServerDuplexStream, status } from '@grpc/grpc-js';
import type { OpenStreams } from '../call/streams.js';
import {
  type ServerReflectionRequest,
  type ServerReflectionResponse,
  ServerReflectionService,
} from '../gen/grpc/reflection/v1/reflection.js';
import type { DescribedFiles } from './described-files.js';

/** What `npm run build` puts beside this file. */
const DESCRIPTORS = new URL('../descriptors.binpb', import.meta.url);
/** The messages of the two versions are the same on the wire. */
const PATHS = ['v1', 'v1alpha'].map((version) => `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`);

type Call = ServerDuplexStream<ServerReflectionRequest, ServerReflectionResponse>;
type Answer = NonNullable<ServerReflectionResponse['messageResponse']>;

/** Rejects when the descriptors are not where the package has them. */
export async function addReflection(server: Server, streams: OpenStreams): Promise<void> {
  const bytes = await readFile(DESCRIPTORS);
  let files: Promise<DescribedFiles> | undefined;
  // With the first question: most sidecars are never asked, and what reads descriptors is a tenth of what they would load.
  const read = (): Promise<DescribedFiles> => {
    files ??= import('./described-files.js').then(({ DescribedFiles }) => new DescribedFiles(bytes));
    return files;
  };
  for (const path of PATHS) {
    const serverReflectionInfo = { ...ServerReflectionService.serverReflectionInfo, path };
    server.addService({ serverReflectionInfo }, { serverReflectionInfo: answering(read, streams) });
  }
}

function answering(
  read: () => Promise<DescribedFiles>,
  streams: OpenStreams,
): handleBidiStreamingCall<ServerReflectionRequest, ServerReflectionResponse> {
  return (call: Call) => {
    call.once('cancelled', streams.addCall(call));
    read().then(
      (files) => answerAll(files, call),
      (error: unknown) => call.destroy(error instanceof Error ? error : new Error(String(error))),
    );
  };
}

function answerAll(files: DescribedFiles, call: Call): void {
  call.on('data', (request: ServerReflectionRequest) => {
    const messageResponse = answer(files, request.messageRequest);
    // From a client that asks and does not read its answers, no more is read.
    if (!call.write({ validHost: request.host, originalRequest: request, messageResponse })) call.pause();
  });
  call.on('drain', () => call.resume());
  call.on('end', () => call.end());
}

function answer(files: DescribedFiles, asked: ServerReflectionRequest['messageRequest']): Answer {
  switch (asked?.$case) {
    case 'listServices':
      return { $case: 'listServicesResponse', value: { service: files.services().map((name) => ({ name })) } };
    case 'fileByFilename':
      return filesOr(files.named(asked.value), `file ${asked.value}`);
    case 'fileContainingSymbol':
      return filesOr(files.defining(asked.value), `symbol ${asked.value}`);
    case 'fileContainingExtension': {
      const { containingType, extensionNumber } = asked.value;
      // None of these files extends anything.
      return failure(status.NOT_FOUND, `there is no extension ${extensionNumber} of ${containingType}`);
    }
    case 'allExtensionNumbersOfType':
      if (files.defining(asked.value) === undefined) return failure(status.NOT_FOUND, `there is no ${asked.value}`);
      return { $case: 'allExtensionNumbersResponse', value: { baseTypeName: asked.value, extensionNumber: [] } };
    case undefined:
      return failure(status.INVALID_ARGUMENT, 'message_request: none is not allowed; allowed: one of its fields');
  }
}

function filesOr(fileDescriptorProto: Uint8Array[] | undefined, what: string): Answer {
  if (fileDescriptorProto === undefined) return failure(status.NOT_FOUND, `there is no ${what} here`);
  return { $case: 'fileDescriptorResponse', value: { fileDescriptorProto } };
}

function failure(errorCode: status, errorMessage: string): Answer {
  return { $case: 'errorResponse', value: { errorCode, errorMessage } };
}
