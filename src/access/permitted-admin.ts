/** The calls of people, as far as their principal may ask them. */
import { setImmediate } from 'node:timers/promises';
import type {
  Administration,
  Changed,
  DeadLetterPage,
  EvictionView,
  GetItemRequest,
  ItemChoice,
  ItemRef,
  ItemReport,
  KeyExplanation,
  KeyPage,
  LaneState,
  LetterFilter,
  LimitsChange,
  LimitsView,
  ListDeadLettersRequest,
  ListKeysRequest,
  ListQueuesRequest,
  ListSessionsRequest,
  QueuePage,
  QueueView,
  Result,
  RetryNowRequest,
  RetryNowView,
  SessionPage,
  Unavailable,
  Watch,
  Watcher,
} from '../coordinator.js';
import { withoutForeignNames } from '../coordinator.js';
import { ownId, plainId, withPlainId } from './own-ids.js';
import { EVERYTHING, notAllowed } from './permitted.js';
import type { Principal } from './principal.js';
import type { Verb } from './settings.js';

const NOTHING = new Uint8Array();
/** Queues in one go, however few are asked for: who may see none makes nobody wait while all are looked at. */
const LOOKED_AT = 1_000;

export class PermittedAdministration implements Administration {
  constructor(
    private readonly admin: Administration,
    private readonly principal: Principal,
  ) {}

  /** Those that may be viewed: of others not even the names are told. */
  async listQueues(request: ListQueuesRequest): Promise<Result<QueuePage>> {
    const refusal = this.principal.allowance?.asks();
    if (refusal !== undefined) return { ok: false, refusal };
    const seen: QueueView[] = [];
    const missing = new Map<number, Unavailable>();
    const most = request.most === 0 ? 0 : Math.max(request.most, LOOKED_AT);
    for (let { after } = request; ; await setImmediate()) {
      const page = await this.admin.listQueues({ ...request, after, most });
      if (!page.ok) return page;
      const { queues, more } = page.value;
      for (const one of page.value.unavailable ?? []) missing.set(one.partition, one);
      seen.push(...queues.filter(({ name }) => this.principal.grants.mayQueue('view', name)));
      const last = queues.at(-1);
      const isFull = seen.length > request.most;
      if (isFull || !more || last === undefined) {
        const found = { queues: seen.slice(0, request.most), more: more || isFull, unavailable: [...missing.values()] };
        return { ok: true, value: { ...page.value, ...found } };
      }
      after = last.name;
    }
  }

  /** All for those who may view everything, else one's own; turns of queues that may not be viewed are counted, not named. */
  async listSessions(request: ListSessionsRequest): Promise<Result<SessionPage>> {
    const { allowance, grants } = this.principal;
    const refusal = allowance?.asks();
    if (refusal !== undefined) return { ok: false, refusal };
    const own = ownId(this.principal, '');
    const prefix = grants.mayEverywhere('view') ? '' : own;
    // A token of another's page begins before or behind one's own ids, and shows none of theirs.
    const found = await this.admin.listSessions({ ...request, prefix });
    if (!found.ok) return found;
    const sessions = found.value.sessions.map((one) => ({
      ...one,
      held: one.held.filter(({ queue }) => grants.mayQueue('view', queue)),
    }));
    return { ok: true, value: { ...found.value, sessions } };
  }

  async listKeys(request: ListKeysRequest): Promise<Result<KeyPage>> {
    return this.#refused('view', request.queue) ?? this.admin.listKeys(request);
  }

  async explainKey(queue: string, key: string): Promise<Result<KeyExplanation>> {
    const refused = this.#refused('view', queue);
    if (refused !== undefined) return refused;
    const found = await this.admin.explainKey(queue, key);
    return found.ok ? { ok: true, value: this.#ownNames(plainExplanation(found.value)) } : found;
  }

  /** What it carries is for those who may see payloads. */
  async getItem(request: GetItemRequest): Promise<Result<ItemReport>> {
    const refused = this.#refused('view', request.queue);
    if (refused !== undefined) return refused;
    if (request.withPayload && !this.principal.grants.mayQueue('payload', request.queue))
      return { ok: false, refusal: notAllowed(this.principal, 'payload', `queue ${request.queue}`) };
    const found = await this.admin.getItem(request);
    if (!found.ok) return found;
    const { after, why, named, lastError, ...rest } = found.value;
    const seen = after && { ...after, first: after.first.filter((one) => this.#sees(one)) };
    return {
      ok: true,
      value: { ...rest, lastError: this.#ownError(lastError), after: seen, why: this.#withoutForeign(why, named) },
    };
  }

  async evictHolder(queue: string, key: string, discard?: boolean): Promise<Result<EvictionView>> {
    return this.#refused('operate', queue) ?? this.admin.evictHolder(queue, key, discard);
  }

  async retryNow(request: RetryNowRequest): Promise<Result<RetryNowView>> {
    const answer = this.#refused('operate', request.queue) ?? (await this.admin.retryNow(request));
    if (answer.ok || answer.refusal.kind !== 'not_delayed' || answer.refusal.after === undefined) return answer;
    return { ok: false, refusal: { ...answer.refusal, after: answer.refusal.after.filter((one) => this.#sees(one)) } };
  }

  async resumeKey(
    queue: string,
    key: string,
  ): Promise<Result<{ readonly resumed: boolean; readonly state: LaneState }>> {
    return this.#refused('operate', queue) ?? this.admin.resumeKey(queue, key);
  }

  async pauseQueue(queue: string): Promise<Result<void>> {
    return this.#refused('operate', queue) ?? this.admin.pauseQueue(queue);
  }

  async resumeQueue(queue: string): Promise<Result<void>> {
    return this.#refused('operate', queue) ?? this.admin.resumeQueue(queue);
  }

  async setLimits(queue: string, change: LimitsChange): Promise<Result<LimitsView>> {
    // A change of nothing is how limits are asked for.
    const verb = change.rate === undefined && change.maxInFlight === undefined ? 'view' : 'operate';
    return this.#refused(verb, queue) ?? this.admin.setLimits(queue, change);
  }

  /** Without `payload` the letters come without what they carry. */
  async listDeadLetters(request: ListDeadLettersRequest): Promise<Result<DeadLetterPage>> {
    const refused = this.#refused('view', request.queue);
    if (refused !== undefined) return refused;
    const found = await this.admin.listDeadLetters(this.#asGuest(request));
    if (!found.ok) return found;
    const withPayload = this.principal.grants.mayQueue('payload', request.queue);
    const deadLetters = found.value.deadLetters.map((letter) => ({
      ...letter,
      lastError: this.#ownError(letter.lastError),
      item: withPayload ? letter.item : { ...letter.item, payload: NOTHING, headers: undefined, stored: undefined },
    }));
    return { ok: true, value: { ...found.value, deadLetters } };
  }

  async redrive(choice: ItemChoice): Promise<Result<Changed>> {
    return this.#refused('operate', choice.queue) ?? this.admin.redrive(this.#asGuest(choice));
  }

  async discard(choice: ItemChoice, waiting: boolean): Promise<Result<Changed>> {
    return this.#refused('operate', choice.queue) ?? this.admin.discard(this.#asGuest(choice), waiting);
  }

  watch(queue: string | undefined, key: string | undefined, watcher: Watcher): Result<Watch> {
    const { allowance, grants } = this.principal;
    const refused = this.#refused('view', queue);
    if (refused !== undefined) return refused;
    const tooMany = allowance?.watches();
    if (tooMany !== undefined) return { ok: false, refusal: tooMany };
    const ended = allowance?.watchBegan() ?? (() => undefined);
    const guarded: Watcher = {
      isGuest: !grants.mayEverywhere('operate'),
      wake: () => watcher.wake(),
      end: (why) => {
        ended();
        watcher.end(why);
      },
    };
    const opened = this.admin.watch(queue, key, guarded);
    if (!opened.ok) {
      ended();
      return opened;
    }
    const stop = (): void => {
      ended();
      opened.value.stop();
    };
    return { ok: true, value: { take: () => opened.value.take(), stop } };
  }

  /** What an item waits for may be of queues that whoever asks may not view: how many they are is told, not which. */
  #ownNames(found: KeyExplanation): KeyExplanation {
    const why = this.#withoutForeign(found.why, found.named);
    const line = found.line.map((entry) => {
      const { after } = entry;
      const lastError = this.#ownError(entry.lastError);
      if (after === undefined) return { ...entry, lastError };
      return { ...entry, lastError, after: { ...after, first: after.first.filter((one) => this.#sees(one)) } };
    });
    return { ...found, lastError: this.#ownError(found.lastError), why, line, named: undefined };
  }

  /** The last error of an item that waited for others, or was to go elsewhere, may name what is not one's own. */
  #ownError(text: string | undefined): string | undefined {
    return text === undefined ? undefined : withoutForeignNames(text, (queue) => this.#sees({ queue }));
  }

  /** What it is chosen by must not show what is hidden of it. */
  #asGuest<C extends { readonly filter?: LetterFilter | undefined }>(choice: C): C {
    const { filter } = choice;
    if (filter === undefined || this.principal.grants.mayEverywhere('view')) return choice;
    return { ...choice, filter: { ...filter, isGuest: true } };
  }

  #withoutForeign(why: string, named: KeyExplanation['named']): string {
    return (named ?? [])
      .filter((one) => !this.#sees(one))
      .reduce((text, one) => text.replaceAll(one.as, 'an item of another queue'), why);
  }

  #sees({ queue }: Pick<ItemRef, 'queue'>): boolean {
    return this.principal.grants.mayQueue('view', queue);
  }

  /** @param queue unset: all that there are and will be */
  #refused(verb: Verb, queue: string | undefined): Result<never> | undefined {
    const { grants, allowance } = this.principal;
    const refusal = allowance?.asks();
    if (refusal !== undefined) return { ok: false, refusal };
    const may = queue === undefined ? grants.mayEverywhere(verb) : grants.mayQueue(verb, queue);
    const what = queue === undefined ? EVERYTHING : `queue ${queue}`;
    return may ? undefined : { ok: false, refusal: notAllowed(this.principal, verb, what) };
  }
}

function plainExplanation(found: KeyExplanation): KeyExplanation {
  const { holder } = found;
  return {
    ...found,
    why: holder?.session === undefined ? found.why : withPlainId(found.why, holder.session.id),
    line: found.line.map((entry) => ({ ...entry, id: plainId(entry.id) })),
    holder: holder && {
      ...holder,
      heldForTicket: holder.heldForTicket && plainId(holder.heldForTicket),
      session: holder.session && { ...holder.session, id: plainId(holder.session.id) },
    },
  };
}
