import { Buffer } from 'node:buffer';
import { type ChannelOptions, Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import {
  AuthService,
  LeaseKeepAliveRequest,
  LeaseKeepAliveResponse,
  LeaseService,
  MaintenanceService,
} from '../../grpc/gen/etcdserverpb/rpc.js';
import type { Clock } from '../../local/clock.js';
import { hostName } from '../address/engine-address.js';
import { storeError } from '../store/partition/failures.js';
import type { EtcdAddress } from './address.js';
import { callError } from './failures.js';

/** How calls behave. */
interface Patience {
  /** A call has its answer after this, or its outcome is unknown, ms. */
  readonly deadline: number;
  readonly clock: Clock;
}

interface Method<Q, A> {
  readonly path: string;
  readonly requestSerialize: (request: Q) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => A;
}

/** A connection that is refused is tried again soon; no proxy of the environment; connections that nobody else has. */
const CHANNEL: ChannelOptions = {
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.min_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  'grpc.enable_http_proxy': 0,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.max_receive_message_length': 8 * 1_048_576,
};

/** Transactions in transactions, and what an address says of leases, are known from here on. */
const OLDEST = [3, 4] as const;

/**
 * One cluster of etcd, by the one of its endpoints that answers. What is asked here may be done twice: an endpoint that cannot be
 * reached is followed by the next one, within the deadline. An endpoint that is silent is left.
 */
export class EtcdServer {
  #client: Client | undefined;
  #at = 0;
  #token: string | undefined;
  #isClosed = false;

  private constructor(
    private readonly address: EtcdAddress,
    private readonly patience: Patience,
  ) {}

  /** @throws JournalError, which says why it cannot be used */
  static async open(address: EtcdAddress, patience: Patience, deadline: number): Promise<EtcdServer> {
    const server = new EtcdServer(address, patience);
    try {
      const { version } = await server.ask(MaintenanceService.status, {}, deadline);
      const [major = 0, minor = 0] = version.split('.').map(Number);
      if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]))
        throw storeError('unfit', `${address.name} is etcd ${version}; it has to be ${OLDEST.join('.')} or newer`);
      return server;
    } catch (error) {
      server.close();
      throw error;
    }
  }

  get name(): string {
    return this.address.name;
  }

  /** @throws JournalError; `io`: it is not known whether it was done */
  ask<Q, A>(method: Method<Q, A>, request: Q, deadline = this.patience.deadline): Promise<A> {
    return this.#within(deadline, (isLate, onLate) =>
      this.#inTurn(isLate, async (client) => {
        const metadata = await this.#login(client, onLate);
        return unary(client, method, request, metadata, onLate);
      }),
    );
  }

  /** Once. @returns how long it lives from now on, s; 0: there is none. @throws JournalError */
  keepAlive(lease: bigint, deadline = this.patience.deadline): Promise<number> {
    return this.#within(deadline, (isLate, onLate) =>
      this.#inTurn(isLate, async (client) => {
        const metadata = await this.#login(client, onLate);
        return kept(client, lease, metadata, onLate);
      }),
    );
  }

  close(): void {
    this.#isClosed = true;
    this.#client?.close();
    this.#client = undefined;
  }

  /** The endpoint that is asked now. */
  get #endpoint(): string {
    const host = this.address.hosts[this.#at];
    return host === undefined ? this.name : hostName(host);
  }

  #connected(): Client {
    this.#client ??= new Client(
      this.#endpoint,
      this.address.tls ? credentials.createSsl() : credentials.createInsecure(),
      CHANNEL,
    );
    return this.#client;
  }

  /** It does not answer: the next one is asked from now on. */
  #leave(client: Client): void {
    if (this.#client !== client) return;
    client.close();
    this.#client = undefined;
    this.#at = (this.#at + 1) % this.address.hosts.length;
  }

  async #inTurn<A>(isLate: () => boolean, call: (client: Client) => Promise<A>): Promise<A> {
    let again = 1;
    for (let left = this.address.hosts.length; ; left -= 1) {
      if (this.#isClosed) throw storeError('io', `the connections to ${this.name} were closed`);
      const [client, endpoint] = [this.#connected(), this.#endpoint];
      try {
        return await call(client);
      } catch (error) {
        if (!isServiceError(error)) throw error;
        const isAway = error.code === status.UNAVAILABLE || error.code === status.CANCELLED;
        if (isAway) this.#leave(client);
        if (isAway && left > 1 && !isLate()) continue;
        // It was refused before anything was done: a token has its time.
        const isOld = /invalid auth token|auth: revision in header is old|auth token is not/i.test(error.details);
        if (isOld) this.#token = undefined;
        if (isOld && again > 0) {
          again -= 1;
          left += 1;
          continue;
        }
        throw callError(this.address, endpoint, error);
      }
    }
  }

  async #login(client: Client, onLate: OnLate): Promise<Metadata> {
    const metadata = new Metadata();
    const { user, password } = this.address;
    if (user === undefined) return metadata;
    const request = { name: user, password: password ?? '' };
    this.#token ??= (await unary(client, AuthService.authenticate, request, metadata, onLate)).token;
    metadata.set('token', this.#token);
    return metadata;
  }

  /** At the deadline what is under way is given up, and the endpoint with it. */
  #within<A>(deadline: number, ask: (isLate: () => boolean, onLate: OnLate) => Promise<A>): Promise<A> {
    return new Promise<A>((resolve, reject) => {
      let isLate = false;
      let giveUp = () => {};
      const callOff = this.patience.clock.after(deadline, () => {
        isLate = true;
        reject(storeError('io', `${this.name} did not answer within ${deadline} ms (asked ${this.#endpoint})`));
        giveUp();
        if (this.#client !== undefined) this.#leave(this.#client);
      });
      const onLate: OnLate = (cancel) => {
        giveUp = cancel;
      };
      ask(() => isLate, onLate).then(
        (answer) => {
          callOff();
          resolve(answer);
        },
        (error: unknown) => {
          callOff();
          reject(error);
        },
      );
    });
  }
}

/** Told how to give up what is under way. */
type OnLate = (cancel: () => void) => void;

function unary<Q, A>(
  client: Client,
  { path, requestSerialize, responseDeserialize }: Method<Q, A>,
  request: Q,
  metadata: Metadata,
  onLate: OnLate,
): Promise<A> {
  return new Promise((resolve, reject) => {
    const call = client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      request,
      metadata,
      (error, answer) => {
        if (answer === undefined) reject(error ?? new TypeError(`${path} was answered with nothing`));
        else resolve(answer);
      },
    );
    onLate(() => call.cancel());
  });
}

/** etcd knows it as a stream alone: one message there, one back. */
function kept(client: Client, lease: bigint, metadata: Metadata, onLate: OnLate): Promise<number> {
  const { path } = LeaseService.leaseKeepAlive;
  return new Promise((resolve, reject) => {
    const call = client.makeBidiStreamRequest(
      path,
      (request: LeaseKeepAliveRequest) => Buffer.from(LeaseKeepAliveRequest.encode(request).finish()),
      (bytes) => LeaseKeepAliveResponse.decode(bytes),
      metadata,
    );
    onLate(() => call.cancel());
    call.on('data', ({ TTL }: LeaseKeepAliveResponse) => {
      resolve(Number(TTL));
      call.cancel();
    });
    call.on('error', reject);
    call.on('end', () => reject(new TypeError(`${path} ended without an answer`)));
    call.write({ ID: lease });
    call.end();
  });
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'details' in error;
}
