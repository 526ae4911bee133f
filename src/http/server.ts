/** HTTP for machines that watch: metrics and probes. Nothing here changes anything. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isOurs } from './own-host.js';
import { Places } from './places.js';

export interface HttpOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Under other names nothing is answered: lower case, without port, besides localhost and the own address. Unset: under all. */
  readonly names?: ReadonlySet<string> | undefined;
  readonly metrics: () => Promise<{ readonly contentType: string; readonly body: readonly Buffer[] }>;
  /** Unset: ready. Else why not. */
  readonly notReady: () => string | undefined;
  /** What is to be known though it is ready. Unset: nothing. */
  readonly remark?: () => string | undefined;
  readonly log: { error(fields: object, message: string): void };
}

export interface HttpServer {
  readonly port: number;
  /** Takes no new requests and ends idle connections; resolves when the others are answered. */
  stop(): Promise<void>;
  /** Ends everything now. */
  forceStop(): void;
}

/** A probe and a few scrapers at a time. With more, whoever comes takes the place of who has said nothing for longest. */
const MOST_CONNECTIONS = 256;

const LIMITS = {
  headersTimeout: 2_000,
  requestTimeout: 5_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 500,
  maxHeaderSize: 8_192,
} as const;

/** ms. Whoever has not read an answer by then is not waited for: it would be kept for ever. */
const READ_WITHIN = 30_000;

interface Answer {
  readonly status: number;
  readonly body: string | readonly Buffer[];
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const FOREIGN =
  'the name in "Host" is none of this sidecar: ask for localhost or its address, or name it in http_hosts (--http-hosts)\n';

type Route = (options: HttpOptions) => Answer | Promise<Answer>;

const ROUTES: Readonly<Record<string, Route>> = {
  '/metrics': async ({ metrics }) => ({ status: 200, ...(await metrics()) }),
  '/healthz': () => ({ status: 200, body: 'ok\n' }),
  '/readyz': ({ notReady, remark }) => {
    const why = notReady();
    if (why !== undefined) return { status: 503, body: `not ready: ${why}\n` };
    const note = remark?.();
    return { status: 200, body: note === undefined ? 'ready\n' : `ready; ${note}\n` };
  },
};

/** Rejects when the address is in use or not usable. */
export function startHttpServer(options: HttpOptions): Promise<HttpServer> {
  const server = createServer(LIMITS, (request, response) => void handle(request, response, options));
  new Places(MOST_CONNECTIONS).of(server);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: options.host, port: options.port }, () => {
      server.off('error', reject);
      server.on('error', (error) => options.log.error({ err: error }, 'HTTP server failed'));
      resolve(running(server));
    });
  });
}

function running(server: Server): HttpServer {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the HTTP server has no port');
  return {
    port: address.port,
    stop: () => new Promise((resolve) => void server.close(() => resolve())),
    forceStop() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function handle(request: IncomingMessage, response: ServerResponse, options: HttpOptions): Promise<void> {
  // Thousands of requests may be read in one go, of a connection that has no place any more.
  if (request.socket.destroyed) return;
  // A body is of no use here; read on, so that the connection can be used again.
  request.resume();
  const result = await answerOr500(request, options);
  // It is not told when its connection closes before that, and would be kept until it is given up.
  if (response.socket === null) await once(response, 'socket');
  // Whoever asked may be gone.
  if (!response.destroyed && !request.socket.destroyed) await send(request, response, result);
}

async function answerOr500(request: IncomingMessage, options: HttpOptions): Promise<Answer> {
  try {
    return await answer(request, options);
  } catch (error) {
    options.log.error({ err: error, url: request.url }, 'HTTP request failed');
    return { status: 500, body: 'internal error\n' };
  }
}

function answer(request: IncomingMessage, options: HttpOptions): Answer | Promise<Answer> {
  const { method = '', url = '' } = request;
  if (options.names !== undefined && !isOurs(request, options.names)) return { status: 421, body: FOREIGN };
  const path = url.split('?', 1)[0] ?? '';
  const route = Object.hasOwn(ROUTES, path) ? ROUTES[path] : undefined;
  if (route === undefined) return { status: 404, body: `not found; there are ${Object.keys(ROUTES).join(', ')}\n` };
  if (method === 'GET' || method === 'HEAD') return route(options);
  return { status: 405, body: 'only GET and HEAD\n', headers: { allow: 'GET, HEAD' } };
}

/** Piece by piece, so that others get their say in between, and no faster than it is read. */
async function send(
  { method }: IncomingMessage,
  response: ServerResponse,
  { status, body, contentType, headers }: Answer,
): Promise<void> {
  const pieces = typeof body === 'string' ? [Buffer.from(body)] : body;
  response.writeHead(status, {
    'content-type': contentType ?? 'text/plain; charset=utf-8',
    'content-length': pieces.reduce((bytes, piece) => bytes + piece.length, 0),
    'cache-control': 'no-store',
    ...headers,
  });
  const timer = setTimeout(() => response.destroy(), READ_WITHIN).unref();
  response.once('close', () => clearTimeout(timer));
  if (method !== 'HEAD') {
    for (const piece of pieces) {
      if (response.destroyed) return;
      if (!response.write(piece)) await taken(response);
      else if (pieces.length > 1) await nextTurn();
    }
  }
  response.end();
}

function taken(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.once('drain', done).once('close', done);
  });
}
