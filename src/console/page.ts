/** The files of the page, as the build made them. Read once, when somebody first asks, and compressed once. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import { tell, tellText } from './headers.js';

const FOLDER = new URL('./page/', import.meta.url);
const START = 'index.html';
const LICENCES = 'licenses.txt';

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/** A name with a hash of its content never has another content. */
const HASHED = /-[A-Z0-9]{8}\.(?:js|css)$/;
const FOR_EVER = 'public, max-age=31536000, immutable';
const ASK_AGAIN = 'no-cache';

interface File {
  readonly type: string;
  readonly etag: string;
  readonly caching: string;
  readonly plain: Buffer;
  readonly packed: Readonly<Record<'br' | 'gzip', Buffer>>;
}

export class Page {
  #files: Promise<ReadonlyMap<string, File>> | undefined;

  constructor(private readonly folder = FOLDER) {}

  /** A path that is no file is a place within the page, which finds its way by it. */
  async serve(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    this.#files ??= readFiles(this.folder);
    const files = await this.#files.catch((error: unknown) => {
      // The next one tries again: it may be built while we run.
      this.#files = undefined;
      throw error;
    });
    const start = files.get(START);
    if (start === undefined)
      return tellText(response, 503, 'The page of the console is not built: "npm run build" makes it.');
    const wantsPage = (request.headers.accept ?? '').includes('text/html');
    const file = files.get(path.slice(1)) ?? (path === '/' || wantsPage ? start : undefined);
    if (file === undefined) return tellText(response, 404, 'not found');
    send(request, response, file);
  }
}

function send({ method, headers }: IncomingMessage, response: ServerResponse, file: File): void {
  const common = { etag: file.etag, 'cache-control': file.caching, vary: 'accept-encoding' };
  if (headers['if-none-match'] === file.etag) {
    response.writeHead(304, common).end();
    return;
  }
  const accepted = String(headers['accept-encoding'] ?? '').split(/\s*,\s*/);
  const packing = (['br', 'gzip'] as const).find((one) => accepted.includes(one));
  const body = packing === undefined ? file.plain : file.packed[packing];
  const its = packing === undefined ? common : { ...common, 'content-encoding': packing };
  tell(response, { status: 200, body, type: file.type, headers: its }, method === 'HEAD');
}

async function readFiles(folder: URL): Promise<ReadonlyMap<string, File>> {
  const files = new Map<string, File>();
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  for (const entry of entries) {
    const type =
      entry.name === LICENCES ? 'text/plain; charset=utf-8' : TYPES[entry.name.slice(entry.name.lastIndexOf('.') + 1)];
    if (entry.isFile() && type !== undefined) files.set(entry.name, await readOne(new URL(entry.name, folder), type));
  }
  return files;
}

async function readOne(url: URL, type: string): Promise<File> {
  const plain = await readFile(url);
  const [br, zipped] = await Promise.all([promisify(brotliCompress)(plain), promisify(gzip)(plain)]);
  const etag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`;
  const caching = HASHED.test(url.pathname) ? FOR_EVER : ASK_AGAIN;
  return { type, etag, caching, plain, packed: { br, gzip: zipped } };
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
