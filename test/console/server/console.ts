/** A console in this process, over a real coordinator, asked over real HTTP. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
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
