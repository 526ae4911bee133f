/** The calls of the sidecar, as JSON of the Connect protocol. What is said of their types is generated from the proto. */
import type { AdminService } from '../gen/keyturn/v1/admin.js';
import type { LeaderService } from '../gen/keyturn/v1/leader.js';
import { heardDate } from './clock.js';

/** As it is in JSON: bytes are base64. */
export type Json<T> = T extends Uint8Array
  ? string
  : T extends readonly (infer E)[]
    ? readonly Json<E>[]
    : T extends object
      ? { readonly [K in keyof T]: Json<T[K]> }
      : T;

type Signature<F> = F extends (request: infer Q) => Promise<infer A> ? { request: Json<Q>; answer: Json<A> } : never;
type Services = AdminService & Pick<LeaderService, 'GetLeader' | 'YieldLeader'>;
type Calls = { readonly [M in keyof Services]: Signature<Services[M]> };
/** Calls with one answer. */
type Method = { [M in keyof Calls]: Calls[M] extends never ? never : M }[keyof Calls];
type Request<M extends Method> = Calls[M]['request'];
export type Answer<M extends Method> = Calls[M]['answer'];

const OF_LEADERS: ReadonlySet<string> = new Set(['GetLeader', 'YieldLeader']);
const ANSWER_WITHIN_MS = 15_000;
/** What is done to many may take longer than what is asked. */
const DONE_WITHIN_MS = 300_000;

const ONLY_ASKS = /^(Get|List|Explain)/;

/** Why a call has no answer. `unreachable`: no sidecar said anything, or what said it was none. */
export class CallError extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
    this.name = 'CallError';
  }
}

export function pathOf(method: string): string {
  return `/keyturn.v1.${OF_LEADERS.has(method) ? 'LeaderService' : 'AdminService'}/${method}`;
}

export async function ask<M extends Method>(method: M, request: Request<M>, signal?: AbortSignal): Promise<Answer<M>> {
  const within = ONLY_ASKS.test(method) ? ANSWER_WITHIN_MS : DONE_WITHIN_MS;
  const headers = { 'content-type': 'application/json', 'connect-protocol-version': '1' };
  const answer = await send(pathOf(method), headers, JSON.stringify(request), signal, within);
  // The page and the proto are of one version with the sidecar that serves them, and it wrote the answer by that proto.
  return answer as Answer<M>;
}

/** A request to the sidecar; what is not an answer becomes a {@link CallError}. */
export async function send(
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string | undefined,
  signal?: AbortSignal,
  within = ANSWER_WITHIN_MS,
): Promise<unknown> {
  const limit = AbortSignal.timeout(within);
  const init: RequestInit = {
    method: body === undefined ? 'GET' : 'POST',
    headers,
    signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    cache: 'no-store',
  };
  if (body !== undefined) init.body = body;
  const asked = Date.now();
  let response: Response;
  let text: string;
  try {
    response = await fetch(path, init);
    heardDate(response.headers.get('date'), asked, Date.now());
    text = await response.text();
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new CallError(
      'unreachable',
      limit.aborted ? `the sidecar did not answer in ${within / 1_000} s` : 'the sidecar is away',
    );
  }
  const said = parsed(text);
  if (response.ok && said !== undefined) return said;
  throw failureOf(response.status, said);
}

/** Undefined: no JSON. An empty body, of an answer without fields, is one. */
function parsed(text: string): unknown {
  if (text === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** From the body of an error of Connect; a proxy in between says none. */
export function failureOf(status: number, said: unknown): CallError {
  if (typeof said === 'object' && said !== null && 'code' in said && typeof said.code === 'string') {
    return new CallError(said.code, messageIn(said) ?? said.code.replaceAll('_', ' '));
  }
  const message = messageIn(said);
  if (status === 401) return new CallError('unauthenticated', message ?? 'log in first');
  if (status === 403) return new CallError('permission_denied', 'that is not allowed');
  if (status === 404) return new CallError('unimplemented', 'this sidecar does not know that call');
  if (status === 429) return new CallError('resource_exhausted', message ?? 'too many calls; it is tried again');
  if (message !== undefined) return new CallError('unknown', message);
  return new CallError('unreachable', `an answer that is none of the sidecar (HTTP ${status})`);
}

function messageIn(said: unknown): string | undefined {
  if (typeof said !== 'object' || said === null || !('message' in said)) return undefined;
  return typeof said.message === 'string' && said.message !== '' ? said.message : undefined;
}

/** What people read of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
