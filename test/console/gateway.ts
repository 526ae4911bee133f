/** A stand-in for the listener of the console: serves the built page and hands its calls on to a real sidecar, as JSON of Connect. */
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { createFileRegistry, type DescMethod, fromBinary, fromJsonString, toBinary, toJson } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { Client, credentials, type ServiceError, status } from '@grpc/grpc-js';

const PAGE = fileURLToPath(new URL('../../src/console/page/', import.meta.url));
const DESCRIPTORS = fileURLToPath(new URL('../../src/grpc/descriptors.binpb', import.meta.url));
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};
const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(DESCRIPTORS)));

export interface Gateway {
  readonly address: string;
  /** Streams of events that are open now. */
  readonly streams: () => number;
  /** Calls by their name, in order. */
  readonly calls: string[];
  stop(): Promise<void>;
}

export async function startGateway(sidecar: string, port = 0, clockAheadMs = 0): Promise<Gateway> {
  const client = new Client(sidecar, credentials.createInsecure());
  let streams = 0;
  const calls: string[] = [];
  const server = createServer((request, response) => {
    response.setHeader('content-security-policy', POLICY);
    response.setHeader('date', new Date(Date.now() + clockAheadMs).toUTCString());
    const [, service = '', method = ''] = /^\/([\w.]+Service)\/(\w+)$/.exec(request.url ?? '') ?? [];
    const found = registry.getService(service)?.methods.find(({ name }) => name === method);
    if (request.url === '/session') return answer(response, 200, { auth: false, principal: '', version: '0.1.0' });
    if (found === undefined) return page(request, response);
    calls.push(method);
    if (found.methodKind === 'unary') return void unary(client, found, request, response);
    streams += 1;
    response.on('close', () => {
      streams -= 1;
    });
    void streaming(client, found, request, response);
  });
  await new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', resolve));
  return {
    address: `http://127.0.0.1:${portOf(server)}`,
    streams: () => streams,
    calls,
    stop: () => stop(server, client),
  };
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('it listens on no port');
  return address.port;
}

async function stop(server: Server, client: Client): Promise<void> {
  const closed = new Promise((resolve) => void server.close(resolve));
  server.closeAllConnections();
  client.close();
  await closed;
}

function page(request: IncomingMessage, response: ServerResponse): void {
  const { pathname } = new URL(request.url ?? '/', 'http://console');
  const isFile = /^\/[\w-]+\.[a-z]+$/.test(pathname) && existsSync(`${PAGE}${pathname.slice(1)}`);
  const name = isFile ? pathname.slice(1) : 'index.html';
  response.setHeader('content-type', TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream');
  response.end(readFileSync(`${PAGE}${name}`));
}

function answer(response: ServerResponse, code: number, body: unknown): void {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

const asIs = (bytes: Buffer): Buffer => bytes;

async function unary(
  client: Client,
  method: DescMethod,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const message = toBinary(method.input, fromJsonString(method.input, (await buffer(request)).toString()));
  client.makeUnaryRequest(pathOf(method), asIs, asIs, Buffer.from(message), (error, bytes) => {
    if (error !== null || bytes === undefined) answer(response, 400, failure(error));
    else answer(response, 200, toJson(method.output, fromBinary(method.output, bytes)));
  });
}

function failure(error: ServiceError | null): object {
  const name = Object.entries(status).find(([, code]) => code === error?.code)?.[0] ?? 'UNKNOWN';
  return { code: name.toLowerCase(), message: error?.details ?? '' };
}

async function streaming(
  client: Client,
  method: DescMethod,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const HEAD = 5;
  const text = (await buffer(request)).subarray(HEAD).toString();
  const message = toBinary(method.input, fromJsonString(method.input, text));
  response.writeHead(200, { 'content-type': 'application/connect+json' });
  response.flushHeaders();
  const call = client.makeServerStreamRequest(pathOf(method), asIs, asIs, Buffer.from(message));
  const send = (flags: number, body: unknown): void => {
    const bytes = Buffer.from(JSON.stringify(body));
    const head = Buffer.alloc(HEAD);
    head.writeUInt8(flags);
    head.writeUInt32BE(bytes.length, 1);
    response.write(Buffer.concat([head, bytes]));
  };
  call.on('data', (bytes: Buffer) => send(0, toJson(method.output, fromBinary(method.output, bytes))));
  call.on('error', (error: ServiceError) => {
    send(2, { error: failure(error) });
    response.end();
  });
  call.on('end', () => {
    send(2, {});
    response.end();
  });
  response.on('close', () => call.cancel());
}
