/** A console in this process, over a real coordinator, asked over real HTTP. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Authenticator, type Secrets } from '../../../src/access/authenticator.js';
import type { Right } from '../../../src/access/settings.js';
import { hashOf, Tokens } from '../../../src/access/tokens.js';
import { type ConsoleOptions, startConsole } from '../../../src/console/server.js';
import { DEFAULT_LIMITS } from '../../../src/core/contract/limits.js';
import type { LocalCoordinator } from '../../../src/local/coordinator.js';
import { newItem } from '../../support/builders.js';
import { localCoordinator } from '../../support/local-coordinator.js';

type Audited = Parameters<NonNullable<ConsoleOptions['audited']>>[0];

const RIGHTS: Readonly<Record<string, readonly Right[]>> = {
  ada: [{ queues: ['ada.*'], groups: [], may: ['produce', 'consume', 'view', 'payload', 'operate'] }],
  ops: [{ queues: ['*'], groups: ['*'], may: ['view', 'operate'] }],
};

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export interface Console {
  readonly port: number;
  readonly coordinator: LocalCoordinator;
  readonly audit: Audited[];
  readonly refusals: string[];
  ask(path: string, asked?: Asked): Promise<Answer>;
  /** A call of the API with JSON. */
  call(method: string, message: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Answers when the headers are there; the body is left to be read. */
  open(path: string, asked?: Asked): Promise<IncomingMessage>;
  /** From now on only these have tokens. */
  keep(...names: string[]): void;
  endRevoked(): void;
  useCertificates(certificates: NonNullable<ConsoleOptions['certificates']>): void;
}

export const FROM_PAGE = { 'sec-fetch-site': 'same-origin' } as const;

function secrets(names: readonly string[]): Secrets {
  const tokens = names.map((name) => ({ name, sha256: hashOf(`secret-${name}`), until: undefined }));
  return { tokens: new Tokens(tokens), jwt: undefined };
}

export async function consoleOf(
  t: TestContext,
  { auth = false, files = { 'index.html': '<!doctype html><title>start</title>' }, ...options }: Plan = {},
): Promise<Console> {
  const folder = await mkdtemp(join(tmpdir(), 'keyturn-console-'));
  t.after(() => rm(folder, { recursive: true }));
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  const coordinator = localCoordinator(t);
  const settings = { tokens: 't', certificates: [], jwt: undefined, unix: undefined, perClient: undefined };
  const authenticator = new Authenticator(
    { ...settings, rights: new Map(Object.entries(RIGHTS)) },
    secrets(['ada', 'ops']),
  );
  const refusals: string[] = [];
  const refused = (_: unknown, from: string, path: string, why: string) =>
    void refusals.push(`${from.replace(/:\d+$/, '')} ${path} ${why}`);
  const audit: Audited[] = [];
  const server = await startConsole({
    host: '127.0.0.1',
    port: 0,
    names: [],
    coordinator,
    cluster: undefined,
    limits: DEFAULT_LIMITS,
    version: '1.2.3',
    certificates: undefined,
    access: auth ? { authenticator, refused } : undefined,
    audited: (entry) => void audit.push(entry),
    observe: () => {},
    log: { info() {}, warn() {}, error: (fields) => assert.fail(JSON.stringify(fields)) },
    page: pathToFileURL(`${folder}/`),
    ...options,
  });
  t.after(() => server.forceStop());
  const open = (path: string, asked?: Asked) => send(server.port, path, asked);
  const ask = async (path: string, asked?: Asked) => answerOf(await open(path, asked));
  return {
    port: server.port,
    coordinator,
    audit,
    refusals,
    open,
    ask,
    call: (method, message, headers = {}) => {
      const type = { 'content-type': 'application/json' };
      const body = typeof message === 'string' ? message : JSON.stringify(message);
      return ask(`/keyturn.v1.${method}`, { method: 'POST', headers: { ...type, ...headers }, body });
    },
    keep: (...names) => authenticator.use(secrets(names)),
    endRevoked: () => server.endRevoked(),
    useCertificates: (certificates) => server.useCertificates(certificates),
  };
}

interface Plan extends Partial<ConsoleOptions> {
  readonly auth?: boolean;
  readonly files?: Readonly<Record<string, string | Buffer>>;
}

function send(
  port: number,
  path: string,
  { method = 'GET', headers = {}, body }: Asked = {},
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, method, headers, agent: false }, resolve);
    sent.once('error', reject);
    sent.end(body);
  });
}

export async function answerOf(message: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(Buffer.from(chunk));
  return { status: message.statusCode ?? 0, headers: message.headers, body: Buffer.concat(chunks).toString() };
}

/** What the API answers, as JSON. */
export function jsonOf({ body }: Answer): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(body);
  assert.ok(typeof value === 'object' && value !== null);
  return { ...value };
}

/** A connection of its own, for who sends what no client sends. */
export async function rawConnection(t: TestContext, port: number, from = '127.0.0.1'): Promise<RawConnection> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from });
  t.after(() => socket.destroy());
  socket.on('error', () => {});
  await once(socket, 'connect');
  const answer: Buffer[] = [];
  return {
    socket,
    read: () => void socket.on('data', (chunk: Buffer) => void answer.push(chunk)),
    text: () => Buffer.concat(answer).toString('latin1'),
  };
}

interface RawConnection {
  readonly socket: Socket;
  /** From now on. */
  read(): void;
  /** What has come. */
  text(): string;
}

/** The head of a call from the page; its body is left to be sent. */
export function headOf(path: string, length: number, more: Readonly<Record<string, string>> = {}): string {
  const headers = { host: 'localhost', ...FROM_PAGE, 'content-length': String(length), ...more };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** A message of a stream has a byte of flags and four of length before it. */
export function framed(message: unknown): Buffer {
  const body = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}

/** WatchEvents for all queues, as bytes of HTTP. */
export function watchBytes(more: Readonly<Record<string, string>> = {}): Buffer {
  const body = framed({});
  const type = { 'content-type': 'application/connect+json' };
  return Buffer.concat([
    Buffer.from(headOf('/keyturn.v1.AdminService/WatchEvents', body.length, { ...type, ...more })),
    body,
  ]);
}

/** How many watch the coordinator, from now on. */
export function watchesOf(t: TestContext, { coordinator: { admin } }: Console): () => number {
  const open = new Set<object>();
  const watch = admin.watch.bind(admin);
  t.mock.method(admin, 'watch', (...asked: Parameters<typeof watch>) => {
    const opened = watch(...asked);
    if (!opened.ok) return opened;
    const { value } = opened;
    open.add(value);
    const stop = () => {
      open.delete(value);
      value.stop();
    };
    return { ok: true, value: { take: () => value.take(), stop } };
  });
  return () => open.size;
}

export async function loggedIn({ ask }: Console, token: string): Promise<string> {
  const answer = await ask('/login', { method: 'POST', headers: FROM_PAGE, body: JSON.stringify({ token }) });
  assert.equal(answer.status, 200, answer.body);
  return answer.headers['set-cookie']?.[0]?.split(';', 1)[0] ?? '';
}

export function submit({ coordinator }: Console, queue: string, key: string): void {
  coordinator.submit(
    { queue, items: [newItem({ key })], waitForRoom: 0, durability: undefined },
    { answer: () => true, refuse: (refusal) => assert.fail(refusal.kind) },
  );
}
