/** Lead: the candidacies of one process on one stream. Its end makes them absent, and ends none of them. */
import type { ServerDuplexStream } from '@grpc/grpc-js';
import { LEADER_LIMITS, type Leaders, type Refusal, type SessionStamp } from '../../coordinator.js';
import { type HandlerContext, internalError } from '../call/handler.js';
import { type CallStatus, statusMessage, statusOf } from '../call/status.js';
import type { Endable } from '../call/streams.js';
import { handedOver, standTerms } from '../convert/leaders.js';
import { fromWireToken } from '../convert/time.js';
import { Check } from '../convert/validate.js';
import type { LeadCommand, LeadNews, LeadRequest, LeadResponse } from '../gen/keyturn/v1/leader.js';
import { Candidacy, type CandidacyHost } from './candidacy.js';
import { OutgoingNews } from './lead-news.js';
import type { LeadCommands, LeadTurns } from './lead-turns.js';

type LeadCall = ServerDuplexStream<LeadRequest, LeadResponse>;

const COMMANDS = 1_000;
const DRAINING: Refusal = { kind: 'draining', retryAfter: 1_000 };

const NONE: readonly LeadCommand[] = [];

export class LeadStream implements CandidacyHost, Endable, LeadCommands {
  readonly #candidacies = new Map<number, Candidacy>();
  readonly #news: OutgoingNews;
  readonly #check: Check;
  /** Of one message. Until the last of them is carried out, no other message is read. */
  #commands = NONE;
  #nextCommand = 0;
  #mayTell = true;
  #isLastRead = false;
  #isOver = false;

  constructor(
    private readonly context: HandlerContext,
    readonly leaders: Leaders,
    private readonly call: LeadCall,
    private readonly nextStamp: () => SessionStamp,
    private readonly turns: LeadTurns,
  ) {
    this.#check = new Check(context.limits);
    this.#news = new OutgoingNews(call, (flows) => this.#flows(flows));
  }

  start(): void {
    this.call.on('data', (request: LeadRequest) => this.#attempt(() => this.#take(request)));
    this.call.on('end', () => {
      this.#isLastRead = true;
      this.#finishAfterLast();
    });
    this.call.on('cancelled', () => this.#close());
  }

  /** @param why unset: the server stops */
  end(why: CallStatus = statusOf(DRAINING)): void {
    this.#finish(why);
  }

  tell(candidacy: number, news: LeadNews['news']): void {
    if (!this.#isOver) this.#news.push({ candidacy, news });
  }

  over({ id }: Candidacy, why: Refusal | undefined): void {
    this.#candidacies.delete(id);
    if (why !== undefined) this.tell(id, { $case: 'refused', value: statusMessage(why) });
  }

  after(ms: number, task: () => void): () => void {
    const timer = setTimeout(() => this.#attempt(task), ms);
    return () => clearTimeout(timer);
  }

  #take({ commands }: LeadRequest): void {
    if (this.#isOver) return;
    if (commands.length > COMMANDS) {
      const description = `${commands.length} entries is not allowed; allowed: up to ${COMMANDS}`;
      const violations = [{ field: 'commands', description }];
      return this.#finish(statusOf({ kind: 'bad_request', violations }));
    }
    this.#commands = commands;
    this.#nextCommand = 0;
    this.turns.begin(this);
    this.#readOrNot();
  }

  next(): boolean {
    const index = this.#nextCommand;
    const command = this.#commands[index];
    this.#nextCommand += 1;
    if (command !== undefined) this.#attempt(() => this.#carryOut(command, index));
    if (this.#nextCommand < this.#commands.length) return true;
    this.#commands = NONE;
    this.#readOrNot();
    this.#finishAfterLast();
    return false;
  }

  #finishAfterLast(): void {
    if (this.#isLastRead && this.#commands === NONE) this.#finish(undefined);
  }

  /** Who does not read is not read from either. */
  #readOrNot(): void {
    if (this.#isOver) return;
    const mayRead = this.#mayTell && this.#commands === NONE;
    if (mayRead && this.call.isPaused()) this.call.resume();
    else if (!mayRead) this.call.pause();
  }

  #carryOut({ candidacy: id, command }: LeadCommand, index: number): void {
    const candidacy = this.#candidacies.get(id);
    if (command === undefined)
      return this.#wrong(id, index, 'command', 'missing; allowed: one of those of LeadCommand');
    if (command.$case === 'stand') return this.#stand(id, command.value, index);
    if (candidacy === undefined) return this.#late(id, command);
    switch (command.$case) {
      case 'inaugurated':
        return candidacy.say(fromWireToken(command.value.term), { kind: 'inaugurated' });
      case 'alive':
        return candidacy.say(fromWireToken(command.value.term), { kind: 'alive' });
      case 'yield':
        return candidacy.say(fromWireToken(command.value.term), { kind: 'yield', failed: command.value.failed });
      case 'withdraw':
        return candidacy.withdraw();
      case 'handedOver': {
        this.#check.enter('commands', index, 'handed_over.');
        const report = handedOver(command.value, this.#check);
        const refusal = this.#check.take();
        this.#check.leave();
        if (refusal !== undefined) return this.#finish(statusOf(refusal));
        return candidacy.say(fromWireToken(command.value.term), report);
      }
    }
  }

  /** The candidacy has ended while this was on its way. Who waits to hear that it was let go is told. */
  #late(id: number, command: NonNullable<LeadCommand['command']>): void {
    if (command.$case !== 'handedOver') return;
    this.tell(id, { $case: 'released', value: { term: command.value.term } });
  }

  #stand(id: number, message: Parameters<typeof standTerms>[0], index: number): void {
    if (this.#candidacies.has(id)) {
      return this.#wrong(id, index, 'candidacy', `${id} is open on this stream; allowed: one that is not`);
    }
    this.#check.enter('commands', index, 'stand.');
    const terms = standTerms(message, this.#check);
    const refusal = this.#check.take() ?? this.#full();
    this.#check.leave();
    if (refusal !== undefined) return this.#refuse(id, refusal);
    const candidacy = new Candidacy(id, terms, this.nextStamp(), this);
    this.#candidacies.set(id, candidacy);
    candidacy.ask();
  }

  #full(): Refusal | undefined {
    const limit = LEADER_LIMITS.candidaciesOfStream;
    if (this.#candidacies.size < limit) return undefined;
    const description = `no more than ${limit} candidacies on one stream; open another one`;
    return { kind: 'limit', subject: 'candidacies', limit, description, retryAfter: 1_000 };
  }

  #wrong(id: number, index: number, field: string, description: string): void {
    const violations = [{ field: `commands[${index}].${field}`, description }];
    this.#refuse(id, { kind: 'bad_request', violations });
  }

  /** A command that goes no further counts as any other. */
  #refuse(id: number, wrong: Refusal): void {
    this.tell(id, { $case: 'refused', value: statusMessage(this.leaders.wasted?.() ?? wrong) });
  }

  #flows(flows: boolean): void {
    this.#mayTell = flows;
    this.#readOrNot();
    for (const candidacy of [...this.#candidacies.values()]) candidacy.flows(flows);
  }

  #attempt(task: () => void): void {
    try {
      task();
    } catch (error) {
      this.#finish(internalError(this.context, this.call.getPath(), error));
    }
  }

  #finish(status: CallStatus | undefined): void {
    if (this.#isOver) return;
    this.#news.flush();
    this.#close();
    if (status === undefined) this.call.end();
    else this.call.emit('error', status);
  }

  #close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const open = [...this.#candidacies.values()];
    this.#candidacies.clear();
    this.#commands = NONE;
    for (const candidacy of open) candidacy.close();
  }
}
