import { Buffer } from 'node:buffer';
import { isIP } from 'node:net';
import type { Clock } from '../../local/clock.js';
import { storeError } from '../store/partition/failures.js';
import type { RedisAddress } from './address.js';
import { connectError, replyError } from './failures.js';

type Library = typeof import('@redis/client');

/**
 * With the first connection: it is half of what a sidecar would load, and most sidecars are in no cluster. Clients are made by one
 * class: `createClient` makes one of all commands anew, which takes as long as a hundred requests, whenever its options are others
 * than the last time, as those of another address are.
 */
async function loadLibrary() {
  const library: Library = await import('@redis/client');
  return { library, newClient: library.RedisClient.factory({ RESP: 2 }) };
}

let loaded: ReturnType<typeof loadLibrary> | undefined;
type NewClient = Awaited<ReturnType<typeof loadLibrary>>['newClient'];

/** How a connection behaves. */
interface Patience {
  /** A request has its answer after this, or its outcome is unknown, ms. */
  readonly deadline: number;
  readonly clock: Clock;
}

/** What can be asked on a connection. */
export type RedisLink = Pick<RedisConnection, 'ask' | 'askForBytes' | 'isOpen'>;

/**
 * One connection, for as long as it lasts: it is never opened again, and nothing is sent twice. What is asked at once goes in
 * one pipeline. An answer that does not come in time ends it: whatever is under way is unknown then.
 */
export class RedisConnection {
  #isOpen = true;
  /** Called once when it has ended, however. */
  onEnd: (() => void) | undefined;
  isSilent = false;

  private constructor(
    private readonly client: ReturnType<typeof makeClient>,
    /** How it is asked for bytes as they are, instead of texts. */
    private readonly asBytes: ReturnType<typeof bytesInsteadOfTexts>,
    private readonly address: RedisAddress,
    private readonly patience: Patience,
  ) {
    client.on('terminated', () => this.destroy());
  }

  /** @throws JournalError that says what is wrong: unreachable, password, database, TLS */
  static async open(address: RedisAddress, patience: Patience, deadline = patience.deadline): Promise<RedisConnection> {
    const { clock } = patience;
    loaded ??= loadLibrary();
    const { library, newClient } = await loaded;
    const client = makeClient(newClient, address, deadline);
    // Errors are told by what was asked; without a listener they would end the process.
    client.on('error', () => undefined);
    let callOff = () => {};
    // A client that is destroyed while its socket is being made never settles what asked for that.
    const late = new Promise<never>((_, reject) => {
      callOff = clock.after(deadline, () => reject(new library.ConnectionTimeoutError()));
    });
    const connecting = client.connect();
    try {
      // Without a password nothing was asked so far: whether there is a Redis is not known before it answers.
      await Promise.race([connecting.then(() => client.sendCommand(['PING'])), late]);
      if (!client.isReady) throw new library.SocketClosedUnexpectedlyError();
      return new RedisConnection(client, bytesInsteadOfTexts(library), address, patience);
    } catch (error) {
      client.destroy();
      // Also if it is connected only now.
      connecting.then(
        () => client.destroy(),
        () => undefined,
      );
      throw connectError(address, error, deadline);
    } finally {
      callOff();
    }
  }

  get isOpen(): boolean {
    return this.#isOpen && this.client.isReady;
  }

  /** @throws JournalError; `io`: it is not known whether it was done */
  ask(args: readonly (string | Buffer)[], deadline = this.patience.deadline): Promise<unknown> {
    return this.#ask(args, deadline, false);
  }

  /** Texts of the answer are bytes. */
  askForBytes(args: readonly (string | Buffer)[], deadline = this.patience.deadline): Promise<unknown> {
    return this.#ask(args, deadline, true);
  }

  /** Ends it at once. */
  destroy(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.client.destroy();
    this.onEnd?.();
  }

  #ask(args: readonly (string | Buffer)[], deadline: number, asBytes: boolean): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const callOff = this.patience.clock.after(deadline, () => {
        reject(storeError('io', `${this.address.name} did not answer within ${deadline} ms`));
        this.isSilent = true;
        this.destroy();
      });
      const fail = (error: unknown) => {
        callOff();
        const failure = replyError(this.address, error);
        if (failure.isOver) this.destroy();
        reject(failure.error);
      };
      // The library does not write into what it is given, but its type would let it.
      this.client.sendCommand([...args], asBytes ? this.asBytes : {}).then((answer) => {
        callOff();
        resolve(answer);
      }, fail);
    });
  }
}

const SECURED = { tls: true } as const;

function bytesInsteadOfTexts({ RESP_TYPES }: Library) {
  return { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } } as const;
}

/**
 * Nothing that the library does by itself after a connection was lost is wanted: no queue while there is none, nothing sent
 * again, no new socket. It keeps its own time for none of our requests; only a socket that is being made is out of our reach.
 */
function makeClient(
  newClient: NewClient,
  { host, port, tls, username, password, database }: RedisAddress,
  deadline: number,
) {
  const socket = { host, port, connectTimeout: deadline, noDelay: true, reconnectStrategy: false } as const;
  // Of the class and of each client: the type of the second has no such option, but it speaks the newest otherwise.
  const options = {
    RESP: 2,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    database,
    socket: tls ? { ...socket, ...SECURED, ...(isIP(host) === 0 ? { servername: host } : {}) } : socket,
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
  } as const;
  return newClient(options);
}
