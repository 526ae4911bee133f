/** Takes requests, line by line, and answers each once. */
import { connect, type Keyturn, KeyturnError, type TlsOptions, type TokenSource, VERSION } from '@keyturn/client';
import { CALLS } from './calls.js';
import {
  type Fields,
  fieldsOf,
  optionalFlag,
  optionalNumber,
  optionalText,
  optionalWord,
  text,
  WrongRequest,
} from './fields.js';
import { Handles } from './handles.js';
import { leftovers } from './leftovers.js';
import { pairs, redisPairs } from './pairs.js';
import { shownError, Unsupported } from './shown-error.js';

/** How long clients may take to close when the driver has gone, ms. */
const FAREWELL_MS = 2_000;

interface Open {
  readonly client: Keyturn;
  readonly handles: Set<string>;
}

/** A request without its answer, as far as it can be cancelled. */
interface Asked {
  readonly request: Fields;
  readonly abort: AbortController;
}

type Op = (request: Fields, asked: Asked) => Promise<Fields> | Fields;

export class Player {
  readonly #clients = new Map<string, Open>();
  readonly #handles: Handles;
  readonly #asked = new Map<number, Asked>();
  readonly #ops: ReadonlyMap<string, Op>;

  constructor(private readonly write: (line: string) => void) {
    const handles = new Handles((event) => write(JSON.stringify(event)));
    this.#handles = handles;
    this.#ops = new Map<string, Op>([
      ['hello', () => ({ language: 'typescript', version: VERSION, runtime: `Node ${process.version}` })],
      ['open', (request) => this.#open(request)],
      ['close', (request) => this.#close(request)],
      ['leftovers', () => leftovers()],
      ['cancel', (request) => this.#cancel(request)],
      ['with_turn', (request, { abort }) => handles.withTurn(this.#begun(request), request, abort.signal)],
      ['turn', (request, { abort }) => handles.withTurn(this.#begun(request), request, abort.signal)],
      ['consume', (request) => handles.consume(this.#begun(request), request)],
      ['stop', (request) => handles.stop(request)],
      ['lead', (request) => handles.lead(this.#begun(request), request)],
      ['yield', (request) => handles.yield(request)],
      ['withdraw', (request) => handles.withdraw(request)],
      ['finish', (request) => handles.finish(request)],
      ['producer', (request) => handles.producer(this.#begun(request), request)],
      ['add', (request) => handles.add(request)],
      ['flush', (request) => handles.flush(request)],
      ['close_producer', (request) => handles.closeProducer(request)],
      ['pairs', (request) => pairs(this.#client(request), request)],
      ['redis_pairs', (request) => redisPairs(request)],
    ]);
  }

  take(line: string): void {
    const request = fieldsOf(JSON.parse(line), 'a line');
    const id = Number(request['id']);
    const asked: Asked = { request, abort: new AbortController() };
    this.#asked.set(id, asked);
    void this.#perform(request, asked).then(
      (ok) => this.#answer(id, { ok }),
      (error: unknown) => this.#answer(id, { error: shownError(error) }),
    );
  }

  /** The driver has gone. */
  async end(): Promise<void> {
    const late = setTimeout(() => process.exit(0), FAREWELL_MS);
    late.unref();
    await Promise.allSettled([...this.#clients.values()].map(({ client }) => client.close({ timeout: 0 })));
  }

  #answer(id: number, outcome: Fields): void {
    this.#asked.delete(id);
    this.write(JSON.stringify({ id, ...outcome }));
  }

  /** Begins at once, in the order of the lines. */
  async #perform(request: Fields, asked: Asked): Promise<Fields> {
    const name = text(request, 'op');
    const call = CALLS.get(name);
    if (call !== undefined) {
      const settings = { timeout: optionalNumber(request, 'timeout_ms'), signal: asked.abort.signal };
      return call(this.#client(request), request, settings);
    }
    const op = this.#ops.get(name);
    if (op === undefined) throw new Unsupported(`this player knows no ${name}`);
    return op(request, asked);
  }

  #open(request: Fields): Fields {
    const name = text(request, 'client');
    if (this.#clients.has(name)) throw new WrongRequest(`client ${name} is open`);
    const client = connect(text(request, 'address'), {
      transport: optionalWord(request, 'transport'),
      consumerId: optionalText(request, 'consumer_id'),
      sessionId: optionalText(request, 'session_id'),
      sessionTtl: optionalNumber(request, 'session_ttl_ms'),
      margin: optionalNumber(request, 'margin_ms'),
      openCommands: optionalNumber(request, 'open_commands'),
      openBytes: optionalNumber(request, 'open_bytes'),
      tls: request['tls'] === undefined ? undefined : tlsOptions(fieldsOf(request['tls'], 'tls')),
      token: request['bearer'] === undefined ? undefined : tokenSource(fieldsOf(request['bearer'], 'bearer')),
    });
    this.#clients.set(name, { client, handles: new Set() });
    return {};
  }

  async #close(request: Fields): Promise<Fields> {
    const name = text(request, 'client');
    const { client, handles } = this.#opened(name);
    this.#clients.delete(name);
    await client.close({ timeout: optionalNumber(request, 'timeout_ms') });
    this.#handles.forget(handles);
    return {};
  }

  /** Late: an application that wants to leave the line when a call is cancelled gives up its ticket's place. */
  async #cancel(request: Fields): Promise<Fields> {
    const asked = this.#asked.get(Number(request['call']));
    asked?.abort.abort(new KeyturnError('the call was cancelled', 'CANCELLED', 'CANCELLED'));
    const ticket = asked === undefined ? undefined : optionalText(asked.request, 'ticket');
    if (asked === undefined || ticket === undefined || optionalFlag(request, 'leave') !== true) return {};
    const { queue, key } = { queue: text(asked.request, 'queue'), key: text(asked.request, 'key') };
    await this.#client(asked.request).deQueue({ queue, key, ticket });
    return {};
  }

  #opened(name: string): Open {
    const open = this.#clients.get(name);
    if (open === undefined) throw new WrongRequest(`no client is called ${name}`);
    return open;
  }

  #client(request: Fields): Keyturn {
    return this.#opened(text(request, 'client')).client;
  }

  /** The client of a handle that begins with this request. */
  #begun(request: Fields): Keyturn {
    const { client, handles } = this.#opened(text(request, 'client'));
    handles.add(text(request, 'handle'));
    return client;
  }
}

/** How a client gets its token: one of these is said. */
function tokenSource(bearer: Fields): TokenSource {
  const [file, gives, fails] = ['file', 'gives', 'fails'].map((name) => optionalText(bearer, name));
  if (file !== undefined) return { file };
  if (gives !== undefined) return () => gives;
  if (fails === undefined) return text(bearer, 'text');
  return () => {
    throw new Error(fails);
  };
}

function tlsOptions(tls: Fields): TlsOptions {
  return {
    ca: optionalText(tls, 'ca'),
    cert: optionalText(tls, 'cert'),
    key: optionalText(tls, 'key'),
    serverName: optionalText(tls, 'server_name'),
  };
}
