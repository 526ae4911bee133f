/** What a principal sees of each answer: no name of a queue that it may not view, and payloads only with that right. */
import { setImmediate } from 'node:timers/promises';
import type {
  AdminAnswer,
  AdminKind,
  AdminRequest,
  ItemRef,
  KeyExplanation,
  LetterFilter,
  ListQueuesRequest,
  NamedView,
  QueuePage,
  QueueView,
  Result,
  Unavailable,
} from '../coordinator.js';
import { withoutForeignNames } from '../coordinator.js';
import { ownId, plainId, withPlainSessions } from './own-ids.js';
import type { Principal } from './principal.js';

type Ask<K extends AdminKind> = (request: AdminRequest<K>) => Promise<Result<AdminAnswer<K>>>;
/** Asks what the principal may ask, and hides in the answer what it may not see. */
type SeenBy<K extends AdminKind> = (
  principal: Principal,
  request: AdminRequest<K>,
  ask: Ask<K>,
) => Promise<Result<AdminAnswer<K>>>;

const NOTHING = new Uint8Array();
/** Queues in one go, however few are asked for: who may see none makes nobody wait while all are looked at. */
const LOOKED_AT = 1_000;

/** The answer names the queue of the request alone. */
const asIs = <R, A>(_: Principal, request: R, ask: (request: R) => Promise<A>): Promise<A> => ask(request);
const filtered = <R extends Filtered, A>(principal: Principal, request: R, ask: (request: R) => Promise<A>) =>
  ask(asGuest(principal, request));

/** Total, so that each new call decides what its answer shows. */
export const SEEN_BY: { readonly [K in AdminKind]: SeenBy<K> } = {
  listQueues: visibleQueues,
  listKeys: asIs,
  /** All for those who may view everything, else one's own; turns of queues that may not be viewed are counted, not named. */
  listSessions: async (principal, request, ask) => {
    const prefix = principal.grants.mayEverywhere('view') ? '' : ownId(principal, '');
    // A token of another's page begins before or behind one's own ids, and shows none of theirs.
    return seen(await ask({ ...request, prefix }), (page) => ({
      ...page,
      sessions: page.sessions.map((one) => ({ ...one, held: one.held.filter((turn) => sees(principal, turn)) })),
    }));
  },
  explainKey: async (principal, request, ask) =>
    seen(await ask(request), (view) => ownNames(principal, plainExplanation(view))),
  getItem: async (principal, request, ask) =>
    seen(await ask(request), ({ after, why, named, lastError, ...rest }) => ({
      ...rest,
      lastError: ownError(principal, lastError),
      after: after && { ...after, first: after.first.filter((one) => sees(principal, one)) },
      why: withoutForeign(principal, withPlainSessions(why), named),
    })),
  evictHolder: asIs,
  retryNow: async (principal, request, ask) => {
    const answer = await ask(request);
    if (answer.ok) return { ok: true, value: { ...answer.value, why: withPlainSessions(answer.value.why) } };
    if (answer.refusal.kind !== 'not_delayed' || answer.refusal.after === undefined) return answer;
    const after = answer.refusal.after.filter((one) => sees(principal, one));
    return { ok: false, refusal: { ...answer.refusal, after } };
  },
  resumeKey: asIs,
  pauseQueue: asIs,
  resumeQueue: asIs,
  setLimits: asIs,
  /** Without `payload` the letters come without what they carry. */
  listDeadLetters: async (principal, request, ask) => {
    const withPayload = principal.grants.mayQueue('payload', request.queue);
    return seen(await ask(asGuest(principal, request)), (page) => ({
      ...page,
      deadLetters: page.deadLetters.map((letter) => ({
        ...letter,
        lastError: ownError(principal, letter.lastError),
        item: withPayload ? letter.item : { ...letter.item, payload: NOTHING, headers: undefined, stored: undefined },
      })),
    }));
  },
  redrive: filtered,
  discard: filtered,
};

/** Those that may be viewed: of others not even the names are shown. */
async function visibleQueues(
  principal: Principal,
  request: ListQueuesRequest,
  ask: Ask<'listQueues'>,
): Promise<Result<QueuePage>> {
  const visible: QueueView[] = [];
  const missing = new Map<number, Unavailable>();
  const most = request.most === 0 ? 0 : Math.max(request.most, LOOKED_AT);
  for (let { after } = request; ; await setImmediate()) {
    const page = await ask({ ...request, after, most });
    if (!page.ok) return page;
    const { queues, more } = page.value;
    for (const one of page.value.unavailable ?? []) missing.set(one.partition, one);
    visible.push(...queues.filter(({ name }) => sees(principal, { queue: name })));
    const last = queues.at(-1);
    const isFull = visible.length > request.most;
    if (isFull || !more || last === undefined) {
      const found = { queues: visible.slice(0, request.most), more: more || isFull };
      return { ok: true, value: { ...page.value, ...found, unavailable: [...missing.values()] } };
    }
    after = last.name;
  }
}

function seen<A>(answer: Result<A>, show: (value: A) => A): Result<A> {
  return answer.ok ? { ok: true, value: show(answer.value) } : answer;
}

function sees({ grants }: Principal, { queue }: Pick<ItemRef, 'queue'>): boolean {
  return grants.mayQueue('view', queue);
}

/** What an item waits for may be of queues that the principal may not view: the answer says how many, not which. */
function ownNames(principal: Principal, found: KeyExplanation): KeyExplanation {
  const why = withoutForeign(principal, found.why, found.named);
  const line = found.line.map((entry) => {
    const { after } = entry;
    const lastError = ownError(principal, entry.lastError);
    if (after === undefined) return { ...entry, lastError };
    return { ...entry, lastError, after: { ...after, first: after.first.filter((one) => sees(principal, one)) } };
  });
  return { ...found, lastError: ownError(principal, found.lastError), why, line, named: undefined };
}

/** The last error of an item that waited for others, or was to go elsewhere, may name what is not one's own. */
function ownError(principal: Principal, text: string | undefined): string | undefined {
  return text === undefined ? undefined : withoutForeignNames(text, (queue) => sees(principal, { queue }));
}

interface Filtered {
  readonly filter?: LetterFilter | undefined;
}

/** The filter must not find what the principal cannot see. */
function asGuest<C extends Filtered>({ grants }: Principal, choice: C): C {
  const { filter } = choice;
  if (filter === undefined || grants.mayEverywhere('view')) return choice;
  return { ...choice, filter: { ...filter, isGuest: true } };
}

function withoutForeign(principal: Principal, why: string, named: readonly NamedView[] | undefined): string {
  // One name may be the beginning of another.
  const longestFirst = [...(named ?? [])].sort((one, other) => other.as.length - one.as.length);
  return replaced(why, longestFirst, (one) => (sees(principal, one) ? one.as : 'an item of another queue'));
}

/** What was replaced is not searched for the other names. */
function replaced(text: string, names: readonly NamedView[], by: (one: NamedView) => string): string {
  const [first, ...others] = names;
  if (first === undefined) return text;
  return text
    .split(first.as)
    .map((part) => replaced(part, others, by))
    .join(by(first));
}

function plainExplanation(found: KeyExplanation): KeyExplanation {
  const { holder } = found;
  return {
    ...found,
    why: withPlainSessions(found.why),
    line: found.line.map((entry) => ({ ...entry, id: plainId(entry.id) })),
    holder: holder && {
      ...holder,
      heldForTicket: holder.heldForTicket && plainId(holder.heldForTicket),
      session: holder.session && { ...holder.session, id: plainId(holder.session.id) },
    },
  };
}
