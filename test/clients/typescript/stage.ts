/** A session on a fake network, in fake time, and the answers of a sidecar in short. */
import type { TestContext } from 'node:test';
import { KeyturnError } from '@keyturn/client';
import { ErrorInfo } from '#client/gen/google/rpc/error_details';
import { Decision, LossCause, NoticeKind, type Turn } from '#client/gen/keyturn/v1/coordinator';
import type { SessionSettings } from '#client/session/settings';
import { SessionTransport } from '#client/session/transport';
import { idMaker } from '#client/words/ids';
import { FakeClock } from '../../support/fake-clock.js';
import { FakeNetwork, type FakeStream, type Outcome } from './fake-network.js';

export const TTL = 9_000;
/** A tenth of {@link TTL}. */
export const MARGIN = 900;

export interface Stage {
  readonly clock: FakeClock;
  readonly network: FakeNetwork;
  readonly client: SessionTransport;
  /** Lets what is ready happen, without time passing. */
  turn(): Promise<void>;
  /** Lets time pass, and what follows from it happen. */
  advance(ms: number): Promise<void>;
  /** Opens the stream with a first call, which is answered, and the hello. */
  begin(): Promise<FakeStream>;
}

export function stage(t: TestContext, settings: Partial<SessionSettings> = {}, random = () => 0.5): Stage {
  const clock = new FakeClock();
  const network = new FakeNetwork();
  const client = new SessionTransport(
    {
      address: 'sidecar:1',
      sessionId: 's',
      consumerId: 'me',
      ttl: TTL,
      margin: undefined,
      limits: { commands: 1_000, bytes: 64 * 1_048_576 },
      backOff: { first: 100, max: 1_000 },
      ...settings,
    },
    { clock, random, newId: idMaker('c'), openStream: network.open },
  );
  t.after(() => {
    // Whatever a test leaves open is no failure of it.
    for (const stream of network.streams) stream.destroyed = true;
    void client.close();
    clock.advance(10_000);
  });
  const turn = async () => {
    clock.turn();
    await settled();
    clock.turn();
  };
  return {
    clock,
    network,
    client,
    turn,
    async advance(ms) {
      clock.advance(ms);
      await turn();
    },
    async begin() {
      const asked = client.awaitItem({ queue: 'q', itemId: 'i' });
      await turn();
      const { stream } = network;
      greet(stream);
      stream.reply([stream.call('awaitItem').id, awaited()]);
      await asked;
      await turn();
      stream.messages.length = 0;
      return stream;
    },
  };
}

/** Every promise that could settle has. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** What became of a promise so far. */
export async function stateOf(promise: Promise<unknown>): Promise<'open' | 'answered' | 'refused'> {
  let state: 'open' | 'answered' | 'refused' = 'open';
  promise.then(
    () => {
      state = 'answered';
    },
    () => {
      state = 'refused';
    },
  );
  await settled();
  return state;
}

export async function refused(promise: Promise<unknown>): Promise<KeyturnError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof KeyturnError) return error;
    throw error;
  }
  throw new Error('it was answered');
}

export function unavailable(): KeyturnError {
  return new KeyturnError('No connection established', 'UNAVAILABLE');
}

/** Answers the hello, with these turns taken back. */
export function greet(stream: FakeStream, turns: readonly Pick<Turn, 'queue' | 'key' | 'token'>[] = []): void {
  stream.reply([stream.call('hello').id, hello(turns)]);
}

export function hello(turns: readonly Pick<Turn, 'queue' | 'key' | 'token'>[] = []): Outcome {
  return {
    $case: 'hello',
    value: {
      sessionId: 's',
      ttl: { seconds: BigInt(TTL / 1_000), nanos: 0 },
      turns: [...turns],
      turnCount: turns.length,
    },
  };
}

/** Queue, key and end of the lease are left out, as a sidecar does. */
export function turn(token: number, more: Partial<Turn> = {}): Turn {
  return {
    queue: '',
    key: '',
    token: BigInt(token),
    lease: { seconds: 20n, nanos: 0 },
    leaseExpiresAt: undefined,
    attempt: 0,
    ...more,
  };
}

export function accept(token: number, more: Partial<Turn> = {}): Outcome {
  return { $case: 'enqueue', value: { ...NO_DECISION, decision: Decision.DECISION_ACCEPT, turn: turn(token, more) } };
}

export function block(ahead = 1): Outcome {
  return { $case: 'enqueue', value: { ...NO_DECISION, decision: Decision.DECISION_BLOCK, ahead } };
}

const NO_DECISION = {
  decision: Decision.DECISION_UNSPECIFIED,
  turn: undefined,
  ticket: '',
  ahead: 0,
  reason: 0,
  retryAfter: undefined,
  result: new Uint8Array(0),
  survivorId: '',
};

export function dequeued(): Outcome {
  return { $case: 'dequeue', value: { promoted: false, waiting: 0 } };
}

export function nacked(): Outcome {
  return { $case: 'nack', value: { retryAt: undefined, deadLettered: 0 } };
}

export function awaited(): Outcome {
  return { $case: 'awaitItem', value: { state: 7, result: new Uint8Array(0), error: '', attempt: 0 } };
}

export function pong(): Outcome {
  return { $case: 'cancel', value: { cancelled: false } };
}

export function renewed(...alive: readonly (true | LossCause)[]): Outcome {
  const results = alive.map((one) => ({
    alive: one === true,
    leaseExpiresAt: undefined,
    cause: one === true ? LossCause.LOSS_CAUSE_UNSPECIFIED : one,
  }));
  return { $case: 'renew', value: { results } };
}

/** An error of the sidecar, as a command of a session gets it. */
export function error(code: number, reason: string, metadata: ReadonlyMap<string, string> = new Map()): Outcome {
  const info = ErrorInfo.encode({ reason, domain: 'keyturn', metadata: new Map(metadata) }).finish();
  const details = [{ typeUrl: 'type.googleapis.com/google.rpc.ErrorInfo', value: info }];
  return { $case: 'error', value: { code, message: `no: ${reason}`, details } };
}

export function lost(token: number, cause: LossCause) {
  const kind = NoticeKind.NOTICE_KIND_TURN_LOST;
  return { replies: [], notices: [{ turn: turn(token, { queue: 'q', key: 'k' }), kind, cause }] };
}

/** The session has the turn still: what the answer to its hello could not say. */
export function kept(token: number) {
  const kind = NoticeKind.NOTICE_KIND_TURN_KEPT;
  return {
    replies: [],
    notices: [{ turn: turn(token, { queue: 'q', key: 'k' }), kind, cause: LossCause.LOSS_CAUSE_UNSPECIFIED }],
  };
}
