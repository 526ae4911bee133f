/**
 * A small client of a running sidecar, for Keyturn's own commands and tests: promises, deadlines, plain objects in the
 * words of the port. Every failure is a {@link KeyturnError}.
 */
import {
  type CallOptions,
  type Client,
  type ClientUnaryCall,
  credentials,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js';
import type {
  AckAnswer,
  AcquireAnswer,
  AwaitAnswer,
  DeadLetterPage,
  DeQueueAnswer,
  EnQueueAnswer,
  EvictionView,
  KeyExplanation,
  KeyPage,
  LaneState,
  LimitsChange,
  LimitsView,
  NackAnswer,
  RenewAnswer,
  SubmitAnswer,
} from '../coordinator.js';
import * as admin from './client-admin.js';
import * as answers from './client-answers.js';
import { toKeyturnError } from './client-errors.js';
import * as calls from './client-requests.js';
import { AdminServiceClient } from './gen/keyturn/v1/admin.js';
import { CoordinatorServiceClient } from './gen/keyturn/v1/coordinator.js';

export type * from './client-admin.js';
export { KeyturnError } from './client-errors.js';
export type * from './client-requests.js';

export interface CallSettings {
  /** ms until the call is given up (DEADLINE_EXCEEDED). Unset: its wait and 10 s. */
  readonly timeout?: number | undefined;
  /** Aborting cancels the call (CANCELLED): a caller that waits without a ticket leaves its line. */
  readonly signal?: AbortSignal | undefined;
}

const GRACE_MS = 10_000;
/** The longest wait that a queue's policy can ask for. */
const LONGEST_WAIT_MS = 300_000;
/** A longer deadline overflows in grpc-js and is over at once. */
const LONGEST_TIMEOUT_MS = 2_147_483_647;

/** The sidecar is a neighbour: neither a proxy from the environment nor a service config from DNS may come between. */
const CHANNEL_OPTIONS = { 'grpc.enable_http_proxy': 0, 'grpc.service_config_disable_resolution': 1 };

/** @param address `host:port` or `unix:/path`. The connection is made by the first call. */
export function connect(address: string): KeyturnClient {
  return new KeyturnClient(address);
}

type Done<M> = (error: ServiceError | null, message: M) => void;
type Method<Q, M> = (request: Q, metadata: Metadata, options: Partial<CallOptions>, done: Done<M>) => ClientUnaryCall;

export class KeyturnClient {
  readonly #coordinator: CoordinatorServiceClient;
  readonly #admin: AdminServiceClient;

  constructor(readonly address: string) {
    this.#coordinator = new CoordinatorServiceClient(address, credentials.createInsecure(), CHANNEL_OPTIONS);
    this.#admin = new AdminServiceClient(address, credentials.createInsecure(), CHANNEL_OPTIONS);
  }

  async enQueue(call: calls.EnQueueCall, settings?: CallSettings): Promise<EnQueueAnswer> {
    const client = this.#coordinator;
    const wait = call.wait ?? LONGEST_WAIT_MS;
    return answers.enQueueAnswer(await ask(client, client.enQueue, calls.wireEnQueue(call), settings, wait));
  }

  async deQueue(call: calls.DeQueueCall, settings?: CallSettings): Promise<DeQueueAnswer> {
    const client = this.#coordinator;
    return ask(client, client.deQueue, calls.wireDeQueue(call), settings);
  }

  async submit(call: calls.SubmitCall, settings?: CallSettings): Promise<SubmitAnswer> {
    const client = this.#coordinator;
    return answers.submitAnswer(await ask(client, client.submit, calls.wireSubmit(call), settings, call.waitForRoom));
  }

  async acquire(call: calls.AcquireCall, settings?: CallSettings): Promise<AcquireAnswer> {
    const client = this.#coordinator;
    return answers.acquireAnswer(await ask(client, client.acquire, calls.wireAcquire(call), settings, call.wait));
  }

  async ack(call: calls.AckCall, settings?: CallSettings): Promise<AckAnswer> {
    const client = this.#coordinator;
    return answers.ackAnswer(await ask(client, client.ack, calls.wireAck(call), settings, call.next?.wait));
  }

  async nack(call: calls.NackCall, settings?: CallSettings): Promise<NackAnswer> {
    const client = this.#coordinator;
    return answers.nackAnswer(await ask(client, client.nack, calls.wireNack(call), settings));
  }

  async renew(call: calls.RenewCall, settings?: CallSettings): Promise<RenewAnswer> {
    const client = this.#coordinator;
    return answers.renewAnswer(await ask(client, client.renew, calls.wireRenew(call), settings));
  }

  async awaitItem(call: calls.AwaitCall, settings?: CallSettings): Promise<AwaitAnswer> {
    const client = this.#coordinator;
    return answers.awaitAnswer(await ask(client, client.await, calls.wireAwait(call), settings, call.wait));
  }

  async listQueues(settings?: CallSettings): Promise<readonly admin.QueueInfo[]> {
    const client = this.#admin;
    return (await ask(client, client.listQueues, {}, settings)).queues.map(admin.queueInfo);
  }

  async listKeys(call: admin.ListKeysCall, settings?: CallSettings): Promise<KeyPage> {
    const client = this.#admin;
    return admin.keyPage(await ask(client, client.listKeys, admin.wireListKeys(call), settings));
  }

  async explainKey(queue: string, key: string, settings?: CallSettings): Promise<KeyExplanation> {
    const client = this.#admin;
    return admin.keyExplanation(await ask(client, client.explainKey, { queue, key }, settings));
  }

  async evictHolder(queue: string, key: string, settings?: CallSettings): Promise<EvictionView> {
    const client = this.#admin;
    return admin.evictionView(await ask(client, client.evictHolder, { queue, key }, settings));
  }

  async resumeKey(
    queue: string,
    key: string,
    settings?: CallSettings,
  ): Promise<{ readonly resumed: boolean; readonly state: LaneState }> {
    const client = this.#admin;
    const { resumed, state } = await ask(client, client.resumeKey, { queue, key }, settings);
    return { resumed, state: admin.stateOf(state) };
  }

  async pauseQueue(queue: string, settings?: CallSettings): Promise<void> {
    const client = this.#admin;
    await ask(client, client.pauseQueue, { queue }, settings);
  }

  async resumeQueue(queue: string, settings?: CallSettings): Promise<void> {
    const client = this.#admin;
    await ask(client, client.resumeQueue, { queue }, settings);
  }

  async setLimits(queue: string, change: LimitsChange, settings?: CallSettings): Promise<LimitsView> {
    const client = this.#admin;
    return admin.limitsView(await ask(client, client.setLimits, admin.wireSetLimits(queue, change), settings));
  }

  async listDeadLetters(call: admin.ListDeadLettersCall, settings?: CallSettings): Promise<DeadLetterPage> {
    const client = this.#admin;
    return admin.deadLetterPage(await ask(client, client.listDeadLetters, admin.wireListDeadLetters(call), settings));
  }

  /** @returns how many went back */
  async redrive(choice: admin.ItemChoiceCall, settings?: CallSettings): Promise<number> {
    const client = this.#admin;
    return (await ask(client, client.redrive, admin.wireChoice(choice), settings)).redriven;
  }

  /** @returns how many are gone */
  async discard(choice: admin.ItemChoiceCall, waiting: boolean, settings?: CallSettings): Promise<number> {
    const client = this.#admin;
    return (await ask(client, client.discard, { ...admin.wireChoice(choice), waiting }, settings)).discarded;
  }

  /** What happens from now on, until the loop is left, `signal` aborts, or the sidecar stops. */
  async *watchEvents(
    queue: string,
    key?: string,
    settings?: Pick<CallSettings, 'signal'>,
  ): AsyncGenerator<admin.EventBatch> {
    const stream = this.#admin.watchEvents({ queue, key });
    const cancel = () => stream.cancel();
    settings?.signal?.addEventListener('abort', cancel, { once: true });
    try {
      for await (const message of stream) yield admin.eventBatch(message);
    } catch (error) {
      throw isServiceError(error) ? toKeyturnError(error) : error;
    } finally {
      settings?.signal?.removeEventListener('abort', cancel);
      stream.cancel();
    }
  }

  /** Closes the connections, so that the process may exit once calls that are still open have ended. */
  close(): void {
    this.#coordinator.close();
    this.#admin.close();
  }
}

function ask<Q, M>(
  client: Client,
  method: Method<Q, M>,
  request: Q,
  settings: CallSettings | undefined,
  wait = 0,
): Promise<M> {
  return new Promise((resolve, reject) => {
    const timeout = Math.min(settings?.timeout ?? wait + GRACE_MS, LONGEST_TIMEOUT_MS);
    const signal = settings?.signal;
    const call = method.call(client, request, new Metadata(), { deadline: Date.now() + timeout }, (error, message) => {
      signal?.removeEventListener('abort', cancel);
      if (error) reject(toKeyturnError(error));
      else resolve(message);
    });
    const cancel = () => call.cancel();
    if (signal?.aborted) cancel();
    else signal?.addEventListener('abort', cancel, { once: true });
  });
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'metadata' in error && 'details' in error;
}
