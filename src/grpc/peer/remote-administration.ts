import type {
  Administration,
  GetItemRequest,
  ItemChoice,
  LimitsChange,
  ListDeadLettersRequest,
  ListKeysRequest,
  ListQueuesRequest,
  ListSessionsRequest,
  Refusal,
  Result,
  RetryNowRequest,
  Watch,
  Watcher,
} from '../../coordinator.js';
import {
  type AdminKind,
  type AdminName,
  adminRequest,
  DISCARD,
  DISCARD_SOME,
  EVICT_AND_DISCARD,
  EVICT_HOLDER,
  EXPLAIN_KEY,
  GET_ITEM,
  LIST_DEAD_LETTERS,
  LIST_KEYS,
  LIST_QUEUES,
  LIST_SESSIONS,
  PAUSE_QUEUE,
  REDRIVE,
  REDRIVE_SOME,
  RESUME_KEY,
  RESUME_QUEUE,
  RETRY_NOW,
  SET_LIMITS,
} from './codec/admin.js';
import { writeAdminCall } from './codec/entries.js';
import { fromBytes } from './codec/shapes.js';
import type { WireReader } from './codec/wire-reader.js';
import type { Lane } from './lane.js';
import type { Life, OpenEntry } from './life.js';
import type { Link } from './link.js';
import { noAnswer, noHome, unknownOutcome } from './refusals.js';
import { RemoteWatch } from './remote-watch.js';

/** ms. What changes something may have much to change; who only looks waits for less by itself (S260). */
const ANSWER_WITHIN = 60_000;

/** The calls that people make, for one partition of another sidecar. */
export class RemoteAdministration implements Administration {
  constructor(
    private readonly link: Link,
    readonly partition: number,
    /** Who asks; empty: that is not known. */
    readonly principal = '',
  ) {}

  by(principal: string): Administration {
    return new RemoteAdministration(this.link, this.partition, principal);
  }

  listQueues(request: ListQueuesRequest) {
    return this.#ask('listQueues', LIST_QUEUES, request);
  }

  listKeys(request: ListKeysRequest) {
    return this.#ask('listKeys', LIST_KEYS, request);
  }

  listSessions(request: ListSessionsRequest) {
    return this.#ask('listSessions', LIST_SESSIONS, request);
  }

  explainKey(queue: string, key: string) {
    return this.#ask('explainKey', EXPLAIN_KEY, { queue, key });
  }

  getItem(request: GetItemRequest) {
    return this.#ask('getItem', GET_ITEM, request);
  }

  async evictHolder(queue: string, key: string, discard = false) {
    if (discard) return this.#ask('evictAndDiscard', EVICT_AND_DISCARD, { queue, key });
    const evicted = await this.#ask('evictHolder', EVICT_HOLDER, { queue, key });
    return evicted.ok ? { ok: true as const, value: { ...evicted.value, itemsDiscarded: 0 } } : evicted;
  }

  retryNow({ queue, what }: RetryNowRequest) {
    const by = 'key' in what ? { by: 'key' as const, key: what.key } : { by: 'item' as const, itemId: what.itemId };
    return this.#ask('retryNow', RETRY_NOW, { queue, what: by });
  }

  resumeKey(queue: string, key: string) {
    return this.#ask('resumeKey', RESUME_KEY, { queue, key });
  }

  pauseQueue(queue: string) {
    return this.#ask('pauseQueue', PAUSE_QUEUE, queue);
  }

  resumeQueue(queue: string) {
    return this.#ask('resumeQueue', RESUME_QUEUE, queue);
  }

  setLimits(queue: string, change: LimitsChange) {
    return this.#ask('setLimits', SET_LIMITS, { queue, change });
  }

  listDeadLetters(request: ListDeadLettersRequest) {
    return this.#ask('listDeadLetters', LIST_DEAD_LETTERS, request);
  }

  redrive(choice: ItemChoice) {
    if (isPlain(choice)) return this.#ask('redrive', REDRIVE, choice);
    return this.#ask('redriveSome', REDRIVE_SOME, choice);
  }

  discard(choice: ItemChoice, waiting: boolean) {
    if (isPlain(choice)) return this.#ask('discard', DISCARD, { choice, waiting });
    return this.#ask('discardSome', DISCARD_SOME, { choice, waiting });
  }

  watch(queue: string | undefined, key: string | undefined, watcher: Watcher): Result<Watch> {
    const life = this.#life();
    if (!life.ok) return life;
    const watch = new RemoteWatch(life.value, watcher, (error) => this.link.report(error));
    watch.begin(this.partition, { queue, key, principal: this.principal });
    return watch.refusal === undefined ? { ok: true, value: watch } : { ok: false, refusal: watch.refusal };
  }

  async #ask<R, A>(name: AdminName, kind: AdminKind<R, A>, request: R): Promise<Result<A>> {
    const life = this.#life();
    if (!life.ok) return life;
    const answered = await new Promise<Result<Buffer>>((resolve) => {
      const call = new AdminCall(life.value, this, resolve);
      const late = noAnswer(this.link.address, ANSWER_WITHIN);
      call.callOff = this.link.scheduler.after(ANSWER_WITHIN, () => call.giveUp(late));
      call.begin(adminRequest(name, kind, request));
    });
    return answered.ok ? { ok: true, value: fromBytes(kind.answer, answered.value) } : answered;
  }

  #life(): Result<Life> {
    const { life } = this.link;
    const refusal = life === undefined ? noHome(this.partition, this.link.why) : life.full;
    if (life !== undefined && refusal === undefined) return { ok: true, value: life };
    return { ok: false, refusal: refusal ?? noHome(this.partition, this.link.why) };
  }
}

class AdminCall implements OpenEntry {
  lane: Lane;
  message = 0;
  /** Called when it is over. */
  callOff: () => void = () => undefined;
  #id = 0;
  #isOver = false;

  constructor(
    private readonly life: Life,
    private readonly asked: { readonly partition: number; readonly principal: string },
    private readonly resolve: (result: Result<Buffer>) => void,
  ) {
    this.lane = life.small;
  }

  begin(request: Uint8Array): void {
    this.#id = this.life.keep(this);
    const { partition, principal } = this.asked;
    this.lane = this.life.write(this.life.small, (out) =>
      writeAdminCall(out, { id: this.#id, partition, request, principal }),
    );
    this.message = this.lane.gathering;
    this.lane.schedule();
  }

  giveUp(refusal: Refusal): void {
    this.life.forget(this.#id);
    this.#end({ ok: false, refusal });
  }

  answered(_outcome: number, _from: WireReader): void {
    throw new RangeError('an answer of a worker to a call of administration');
  }

  refused(refusal: Refusal): void {
    this.#end({ ok: false, refusal });
  }

  told(bytes: Buffer): void {
    // Its message may be gone when this is read.
    this.#end({ ok: true, value: Buffer.from(bytes) });
  }

  lost(wasSent: boolean): void {
    const gone = 'the link to its home broke before the call was sent';
    this.refused(wasSent ? unknownOutcome(this.life.address) : noHome(this.asked.partition, gone));
  }

  #end(result: Result<Buffer>): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.callOff();
    this.resolve(result);
  }
}

/** Says nothing that homes of an older version do not know. */
function isPlain({ filter, dryRun, most }: ItemChoice): boolean {
  return filter === undefined && dryRun !== true && most === undefined;
}
