/**
 * beanstalkd, and one connection to it that pipelines: what is asked within a turn of the event loop is written at once,
 * and replies come in the order of the commands. Source: beanstalkd's doc/protocol.txt, the commands put, reserve and delete.
 */
import type { Socket } from 'node:net';
import { HOST, isInstalled, type NativeServer, openSocket, type Program, startNative } from '../load/native-server.js';

export const BEANSTALKD: Program = { needs: 'beanstalkd', install: 'apt-get install beanstalkd' };

export function hasBeanstalkd(): Promise<boolean> {
  return isInstalled(BEANSTALKD, '-v');
}

/** Without a log of its own (`-b`): nothing is written to disk. */
export function startBeanstalkd(): Promise<NativeServer> {
  return startNative(BEANSTALKD, (port) => ['-l', HOST, '-p', String(port)]);
}

/** With a log that it flushes before each answer. @param directory on a disk */
export function startKeepingBeanstalkd(directory: string): Promise<NativeServer> {
  return startNative(BEANSTALKD, (port) => ['-l', HOST, '-p', String(port), '-b', directory, '-f0']);
}

export interface Job {
  readonly id: string;
  readonly body: Buffer;
}

/** The first line of a reply in its words; a body if there is one. */
interface Told {
  readonly words: readonly string[];
  readonly body: Buffer | undefined;
}

interface Waiting {
  resolve(told: Told): void;
  reject(error: Error): void;
}

const LINE_END = '\r\n';
/** So many who were answered are kept at most. */
const KEPT = 4_096;
/** Seconds until a job that is not deleted is given to somebody else: as long as the lease of a turn. */
const TIME_TO_RUN = 20;

export class BeanstalkConnection {
  readonly #waiting: (Waiting | undefined)[] = [];
  #answered = 0;
  #unread: Buffer = Buffer.alloc(0);
  #unsent: (string | Buffer)[] = [];

  private constructor(private readonly socket: Socket) {
    socket.on('data', (chunk) => this.#take(chunk));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('beanstalkd closed the connection')));
  }

  static async connect(port: number): Promise<BeanstalkConnection> {
    return new BeanstalkConnection(await openSocket(port));
  }

  async put(body: Buffer): Promise<void> {
    await this.#ask('INSERTED', `put 0 0 ${TIME_TO_RUN} ${body.length}${LINE_END}`, body, LINE_END);
  }

  /** Waits until there is one. */
  async reserve(): Promise<Job> {
    const { words, body } = await this.#ask('RESERVED', `reserve${LINE_END}`);
    if (body === undefined) throw new Error('a job without a body');
    return { id: words[1] ?? '', body };
  }

  async delete(id: string): Promise<void> {
    await this.#ask('DELETED', `delete ${id}${LINE_END}`);
  }

  close(): void {
    this.socket.destroy();
  }

  async #ask(expected: string, ...parts: (string | Buffer)[]): Promise<Told> {
    if (this.#unsent.push(...parts) === parts.length) setImmediate(() => this.#flush());
    const told = await new Promise<Told>((resolve, reject) => this.#waiting.push({ resolve, reject }));
    if (told.words[0] !== expected) throw new Error(`expected ${expected}, got ${told.words.join(' ')}`);
    return told;
  }

  #flush(): void {
    this.socket.write(Buffer.concat(this.#unsent.map((part) => (typeof part === 'string' ? Buffer.from(part) : part))));
    this.#unsent = [];
  }

  #take(chunk: Buffer): void {
    const bytes = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk]);
    let from = 0;
    for (let reply = readReply(bytes, from); reply !== undefined; reply = readReply(bytes, from)) {
      from = reply.end;
      this.#next()?.resolve(reply.told);
    }
    this.#unread = bytes.subarray(from);
  }

  /** The one who has waited for the longest. Those before it go in bulk: each shift would move all the others. */
  #next(): Waiting | undefined {
    const next = this.#waiting[this.#answered];
    if (next === undefined) return undefined;
    // Who was answered must not grow old in here.
    this.#waiting[this.#answered] = undefined;
    this.#answered += 1;
    if (this.#answered === this.#waiting.length || this.#answered === KEPT) {
      this.#waiting.splice(0, this.#answered);
      this.#answered = 0;
    }
    return next;
  }

  #fail(error: Error): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) next.reject(error);
  }
}

/** @returns undefined while a reply is not there as a whole */
function readReply(bytes: Buffer, from: number): { readonly told: Told; readonly end: number } | undefined {
  const lineEnd = bytes.indexOf(LINE_END, from);
  if (lineEnd < 0) return undefined;
  const words = bytes.toString('latin1', from, lineEnd).split(' ');
  const afterLine = lineEnd + LINE_END.length;
  if (words[0] !== 'RESERVED') return { told: { words, body: undefined }, end: afterLine };
  const bodyEnd = afterLine + Number(words[2]);
  const end = bodyEnd + LINE_END.length;
  return bytes.length < end ? undefined : { told: { words, body: bytes.subarray(afterLine, bodyEnd) }, end };
}
