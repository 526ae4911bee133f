/** The requests that a registry needs: how each is written, and how its answer is read. */
import type { Buffer } from 'node:buffer';
import { JuteError, type JuteReader, JuteWriter } from './jute.js';

/** Something to ask, with an answer of type `T`. */
export interface Request<T> {
  readonly type: number;
  /** For people: what it does to what. */
  readonly what: string;
  write(to: JuteWriter): void;
  /** @throws JuteError */
  read(from: JuteReader): T;
}

/** A part of {@link multi}. */
export interface Operation {
  readonly type: number;
  readonly what: string;
  write(to: JuteWriter): void;
  /** @throws JuteError */
  read(from: JuteReader): unknown;
}

interface Stat {
  /** Of the write that changed it last. */
  readonly mzxid: bigint;
  readonly version: number;
  /** Id of the session that it ends with; 0: of none. */
  readonly owner: bigint;
}

/** Who may do what to a node. */
interface Acl {
  readonly scheme: string;
  readonly id: string;
}

/** Everybody; or all that the connection has logged in as, and nobody else. */
export const EVERYBODY: Acl = { scheme: 'world', id: 'anyone' };
export const OWN: Acl = { scheme: 'auth', id: '' };

const TYPE = {
  create: 1,
  delete: 2,
  getData: 4,
  setData: 5,
  sync: 9,
  ping: 11,
  getChildren2: 12,
  check: 13,
  multi: 14,
  auth: 100,
  closeSession: -11,
  error: -1,
} as const;
const ALL_RIGHTS = 31;
const EPHEMERAL = 1;
const SEQUENTIAL = 2;
/** Of a setData or a delete: whatever version it has. */
const ANY_VERSION = -1;
/** Bytes of a text are at least those of its length. */
const LEAST_TEXT = 4;

interface Node {
  readonly path: string;
  readonly data: Buffer;
  readonly acl: Acl;
  /** It ends with the session that makes it, and the server adds a number to its name that is larger than those before. */
  readonly isSequential?: true;
}

/** The answer is its path. */
export function create(node: Node): Request<string> {
  const { path, data, acl, isSequential } = node;
  return {
    type: TYPE.create,
    what: `create ${path}`,
    write: (to) => {
      to.text(path).bytes(data);
      to.list([acl], ({ scheme, id }) => to.int(ALL_RIGHTS).text(scheme).text(id));
      to.int(isSequential ? EPHEMERAL | SEQUENTIAL : 0);
    },
    read: (from) => from.text(),
  };
}

export function remove(path: string): Request<void> {
  return {
    type: TYPE.delete,
    what: `delete ${path}`,
    write: (to) => void to.text(path).int(ANY_VERSION),
    read: nothing,
  };
}

export function setData(path: string, data: Buffer, version = ANY_VERSION): Request<Stat> {
  return {
    type: TYPE.setData,
    what: `setData ${path}`,
    write: (to) => void to.text(path).bytes(data).int(version),
    read: readStat,
  };
}

/** That a node is there. Only in {@link multi}. */
export function check(path: string): Operation {
  return {
    type: TYPE.check,
    what: `check ${path}`,
    write: (to) => void to.text(path).int(ANY_VERSION),
    read: nothing,
  };
}

export interface Found {
  readonly data: Buffer;
  readonly stat: Stat;
}

/** @param watch whether this connection is told of the next change of it */
export function getData(path: string, watch = false): Request<Found> {
  return {
    type: TYPE.getData,
    what: `getData ${path}`,
    write: (to) => void to.text(path).bool(watch),
    read: (from) => ({ data: from.bytes(), stat: readStat(from) }),
  };
}

interface Children {
  readonly names: readonly string[];
  readonly stat: Stat;
}

export function getChildren(path: string): Request<Children> {
  return {
    type: TYPE.getChildren2,
    what: `getChildren ${path}`,
    write: (to) => void to.text(path).bool(false),
    read: (from) => ({ names: from.list(LEAST_TEXT, () => from.text()), stat: readStat(from) }),
  };
}

/** What this connection reads after that has all that the leader had when it came there. */
export function sync(path: string): Request<void> {
  return { type: TYPE.sync, what: `sync ${path}`, write: (to) => void to.text(path), read: (from) => void from.text() };
}

/** All of them or none. The answer is empty when they were done, else the code of each: see {@link firstOf}. */
export function multi(operations: readonly Operation[]): Request<readonly number[]> {
  return {
    type: TYPE.multi,
    what: operations.map(({ what }) => what).join(', '),
    write: (to) => {
      for (const operation of operations) {
        writeHeader(to, operation.type, false);
        operation.write(to);
      }
      writeHeader(to, TYPE.error, true);
    },
    read: (from) => readResults(from, operations),
  };
}

/** The code that kept them from being done: those before have 0, those behind were not tried. Unset: they were done. */
export function firstOf(errors: readonly number[]): number | undefined {
  return errors.find((code) => code !== 0);
}

function writeHeader(to: JuteWriter, type: number, isEnd: boolean): void {
  to.int(type).bool(isEnd).int(-1);
}

function readResults(from: JuteReader, operations: readonly Operation[]): readonly number[] {
  const errors: number[] = [];
  let done = 0;
  for (;;) {
    const [type, isEnd] = [from.int(), from.bool()];
    from.int();
    if (isEnd) break;
    const operation = operations[done + errors.length];
    if (operation === undefined) throw new JuteError('more results than operations');
    if (type === TYPE.error) errors.push(from.int());
    else if (type === operation.type) {
      operation.read(from);
      done += 1;
    } else throw new JuteError(`a result of type ${type} for one of ${operation.type}`);
  }
  if (done !== operations.length && errors.length !== operations.length)
    throw new JuteError(`${done} results and ${errors.length} errors of ${operations.length} operations`);
  return errors;
}

/** Keeps the session, and does nothing else. */
export const PING: Request<void> = { type: TYPE.ping, what: 'ping', write: () => {}, read: nothing };

/** Ends the session, with all that ends with it. */
export const CLOSE: Request<void> = { type: TYPE.closeSession, what: 'closeSession', write: () => {}, read: nothing };

/** The connection acts as this user too. A wrong password is none yet: it is another user. */
export function login(user: Buffer): Request<void> {
  return {
    type: TYPE.auth,
    what: 'log in',
    write: (to) => void to.int(0).text('digest').bytes(user),
    read: nothing,
  };
}

/** What a connection begins with. */
export interface Hello {
  /** Of the session that is to go on; 0: a new one. */
  readonly id: bigint;
  readonly password: Buffer;
  /** What is asked for, ms. */
  readonly timeout: number;
}

export interface Welcome extends Hello {
  /** The session is over; it is not there, or it is another one's. */
  readonly isExpired: boolean;
}

export function helloFrame({ id, password, timeout }: Hello): Buffer {
  const [version, seen] = [0, 0n];
  // What was seen of an ensemble that was set up anew is in none of its servers, and they would refuse for ever: who reads syncs before.
  const to = new JuteWriter().int(version).long(seen).int(timeout).long(id).bytes(password);
  return to.bool(false).frame();
}

/** @throws JuteError */
export function readWelcome(from: JuteReader): Welcome {
  from.int();
  const [timeout, id, password] = [from.int(), from.long(), from.bytes()];
  return { timeout, id, password, isExpired: timeout <= 0 || id === 0n };
}

function readStat(from: JuteReader): Stat {
  from.long();
  const mzxid = from.long();
  from.long();
  from.long();
  const version = from.int();
  from.int();
  from.int();
  const owner = from.long();
  from.int();
  from.int();
  from.long();
  return { mzxid, version, owner };
}

function nothing(): void {}
