/**
 * Who changed what, and who looked at what messages carry: told once for each such call, when it is answered. What streams of
 * workers do is none of it.
 */
import { ServerInterceptingCall, type ServerInterceptingCallInterface } from '@grpc/grpc-js';
import { type AdminKind, CHANGING_CALLS, type ClusterKind } from '../../coordinator.js';
import { codeName } from './status.js';
import type { Guard } from './transport.js';

type Listener = Parameters<ServerInterceptingCallInterface['start']>[0];
type SentStatus = Parameters<ServerInterceptingCallInterface['sendStatus']>[0];

interface AuditEntry {
  /** Name of the principal; unset: nobody is asked who they are here. */
  readonly who: string | undefined;
  /** Address of the caller. */
  readonly from: string;
  /** `link`: another sidecar asks in the name of its caller, whom it has let in. `console`: a page, or a tool at its address. */
  readonly over?: 'link' | 'console';
  /** `AdminService/Discard` */
  readonly call: string;
  /** What was asked, by the fields of the message; long texts and lists are cut. */
  readonly asked: Readonly<Record<string, unknown>>;
  /** Name of the gRPC status. */
  readonly outcome: string;
  /** Of what was refused: why. Of what was done: numbers, flags and ids of the answer. */
  readonly told: Readonly<Record<string, unknown>> | string;
}

/** Told of each call that is worth a line. */
export type Audited = (entry: AuditEntry) => void;

type Fields = Readonly<Record<string, unknown>>;
/** Whether a call is worth a line, by what was asked and answered. */
type IsWorth = (asked: Fields, answered: Fields | undefined) => boolean;

const always: IsWorth = () => true;

/** As the audit names a call of operators: `AdminService/Discard`. */
export function adminCallName(kind: AdminKind | ClusterKind): string {
  return `AdminService/${kind.charAt(0).toUpperCase()}${kind.slice(1)}`;
}

/** Calls that change something; those that only ask when they change nothing; those that show payloads. */
const CALLS: Readonly<Record<string, IsWorth>> = {
  ...Object.fromEntries(CHANGING_CALLS.map((kind) => [adminCallName(kind), always] as const)),
  'AdminService/SetLimits': ({ rate, maxInFlight }) => rate !== undefined || maxInFlight !== undefined,
  'AdminService/GetItem': ({ withPayload }, answered) => withPayload === true && answered?.['item'] !== undefined,
  'AdminService/ListDeadLetters': (_asked, answered) => carriesContents(answered?.['deadLetters']),
  'AdminService/RouteQueue': ({ group, spread }) => group !== undefined || spread !== undefined,
  'LeaderService/YieldLeader': always,
};

const PREFIX = '/keyturn.v1.';
/** Of a text, a list. */
const MOST_CHARACTERS = 256;
const MOST_ENTRIES = 20;

interface Carried {
  readonly who: string | undefined;
  readonly from: string;
  readonly over: 'console';
  readonly path: string;
  readonly asked: unknown;
  readonly answered: unknown;
}

/** Of a call that did not come over gRPC. Unset: it is worth no line. @param why of what was refused */
export function auditEntry(carried: Carried, outcome: string, why: string): AuditEntry | undefined {
  const { who, from, over, path } = carried;
  const call = nameOf(path);
  const asked = fieldsOf(carried.asked);
  const answered = carried.answered === undefined ? undefined : fieldsOf(carried.answered);
  if (CALLS[call]?.(asked, answered) !== true) return undefined;
  const told = why === '' ? plain(answered ?? {}) : cut(why);
  return { who, from, over, call, asked: plain(asked), outcome, told };
}

function nameOf(path: string): string {
  return path.startsWith(PREFIX) ? path.slice(PREFIX.length) : path;
}

/** @param whoIs name of the principal of a call that was let in; unset: nobody is asked */
export function auditing(
  audited: Audited,
  whoIs: (call: ServerInterceptingCallInterface) => string | undefined,
): Guard {
  return ({ path }, call) => {
    const name = nameOf(path);
    const isWorth = CALLS[name];
    if (isWorth === undefined) return undefined;
    return new AuditedCall(call, (asked, answered, outcome, why) => {
      if (!isWorth(asked, answered)) return;
      const told = why === '' ? plain(answered ?? {}) : cut(why);
      audited({ who: whoIs(call), from: call.getPeer(), call: name, asked: plain(asked), outcome, told });
    });
  };
}

export const OK = 'OK';

/** What of a message may stand in an entry. */
export function auditedFields(message: unknown): Readonly<Record<string, unknown>> {
  return plain(fieldsOf(message));
}

type Tell = (asked: Fields, answered: Fields | undefined, outcome: string, why: string) => void;

class AuditedCall extends ServerInterceptingCall {
  #asked: Fields = {};
  #answered: Fields | undefined;
  /** What was not let in is told by the door. */
  #isLetIn = false;
  #isTold = false;

  constructor(
    inner: ServerInterceptingCallInterface,
    private readonly tell: Tell,
  ) {
    super(inner);
  }

  override start(listener: Listener): void {
    super.start({
      onReceiveMetadata: (metadata) => {
        this.#isLetIn = true;
        listener.onReceiveMetadata(metadata);
      },
      onReceiveMessage: (message: unknown) => {
        this.#asked = fieldsOf(message);
        listener.onReceiveMessage(message);
      },
      onReceiveHalfClose: () => listener.onReceiveHalfClose(),
      onCancel: () => {
        // What it asked may be done all the same.
        this.#told('CANCELLED', 'the caller was gone before it was answered');
        listener.onCancel();
      },
    });
  }

  override sendMessage(message: unknown, sent: () => void): void {
    this.#answered = fieldsOf(message);
    super.sendMessage(message, sent);
  }

  override sendStatus(status: SentStatus): void {
    const { code, details } = status;
    const outcome = code === undefined ? 'UNKNOWN' : codeName(code);
    this.#told(outcome, outcome === OK ? '' : (details ?? ''));
    super.sendStatus(status);
  }

  #told(outcome: string, why: string): void {
    if (this.#isTold || !this.#isLetIn) return;
    this.#isTold = true;
    this.tell(this.#asked, this.#answered, outcome, why);
  }
}

function carriesContents(letters: unknown): boolean {
  if (!Array.isArray(letters)) return false;
  return letters.some((letter: unknown) => {
    const { payload, headers } = fieldsOf(fieldsOf(letter)['item']);
    return (payload instanceof Uint8Array && payload.length > 0) || Object.keys(fieldsOf(headers)).length > 0;
  });
}

/** Of what is no message none. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};
}

/** Names, numbers and flags; of a list of messages how many there are. Nothing that messages of workers carry. */
function plain(fields: Fields): Fields {
  const shown: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    // Most give none.
    const text = name === 'reason' && value === '' ? undefined : plainValue(value);
    if (text !== undefined) shown[name] = text;
  }
  return shown;
}

function plainValue(value: unknown): unknown {
  if (typeof value === 'string') return cut(value);
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Uint8Array || value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) return plain(fieldsOf(value));
  const isPlain = value.every((one) => typeof one === 'string' || typeof one === 'number');
  if (!isPlain || value.length > MOST_ENTRIES) return { count: value.length };
  return value.map(plainValue);
}

function cut(text: string): string {
  return text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS)}… (${text.length} characters)`;
}
