/**
 * A person routes a queue anew. The record of the cluster says that it is to leave the partitions where it is; their homes give it
 * up, if it is empty, and say so in the registry; when all of them have, the record says where it is from now on. The homes need
 * not be reached from here: what decides is what is in the store.
 *
 * Why no two homes serve one key: a home that has given a queue up takes nothing of it until a later record says otherwise. Its
 * word counts only if its claim still stands when the guards are read behind that word. Who claims the partition after that
 * reads the record before it lets anybody in, and finds that the queue is to leave, or has left.
 */
import type { Refusal, Result, RouteRequest, RouteView } from '../../coordinator.js';
import { pastedCommand } from '../../core/contract/pasted-command.js';
import { badRequest, DRAINING } from '../../core/contract/refusals.js';
import type { CoordinatorSettings } from '../../core/contract/settings.js';
import { tooSmallToSpread } from '../../core/contract/spread.js';
import type { QueueRemains } from '../../core/contract/views.js';
import type { Clock } from '../../local/clock.js';
import { JournalError } from '../../local/journal/journal.js';
import { remainsText, sumOf } from '../partitions/remains.js';
import { routeView } from '../partitions/route-view.js';
import {
  alone,
  begun,
  finished,
  isNamed,
  isSamePlace,
  mapOf,
  type Place,
  placeOf,
  placeText,
} from '../partitions/routes.js';
import type { Member, Registry } from '../registry/registry.js';
import { amend } from '../store/amend.js';
import type { Rerouting as Change, ClusterRecord, ClusterStore } from '../store/cluster-store.js';
import { callOff } from './following.js';
import { noRecord } from './moving.js';

/** So long it is waited for homes to give the queue up, ms. Members call off by themselves what takes much longer. */
const PATIENCE = 10_000;
/** So long it is waited for members to follow, ms. They do it all the same. */
const UNTIL_FOLLOWED = 5_000;
/** ms */
const LOOK_EVERY = 50;
/** Routes stand in one record, which every member reads four times a second. */
const MOST_ROUTES = 1_000;

interface ReroutingOptions {
  readonly clock: Clock;
  readonly store: Pick<ClusterStore, 'changeRecord' | 'look'>;
  readonly registry: Pick<Registry, 'members' | 'homes'>;
  readonly settings: Pick<CoordinatorSettings, 'queues' | 'defaultPolicy'>;
  /** Of the cluster, as it was read once. */
  readonly record: Pick<ClusterRecord, 'id' | 'partitions'>;
  /** So long it is waited for homes, ms. Unset: 10 s. */
  readonly patience?: number;
  /** Nothing is waited for any more. */
  isEnded(): boolean;
}

type Refused = { readonly ok: false; readonly refusal: Refusal };
/** What homes have said. */
type Answers =
  | { readonly all: true; readonly remains: QueueRemains | undefined; readonly lastToken: number }
  | { readonly all: false; readonly silent: readonly number[] };

export class Rerouting {
  constructor(private readonly options: ReroutingOptions) {}

  /** @throws Error of the registry, JournalError */
  route(request: RouteRequest): Promise<Result<RouteView>> {
    return this.#route(request, false);
  }

  /**
   * The same of a queue of which the record says nothing; else nothing is changed, whatever it says. @throws Error of the registry,
   * JournalError
   */
  bringIn(queue: string, place: Place): Promise<Result<RouteView>> {
    return this.#route({ queue, ...place, acceptLoss: false }, true);
  }

  async #route(request: RouteRequest, onlyNew: boolean): Promise<Result<RouteView>> {
    const { queue } = request;
    const record = await this.#record();
    if (record === undefined) return noRecord();
    const isQuestion = request.group === undefined && request.spread === undefined;
    if (isQuestion || (onlyNew && isNamed(record, queue))) return told(record, queue, false);
    const place = placeWanted(request);
    const wrong = this.#wrong(queue, place);
    if (wrong !== undefined) return { ok: false, refusal: wrong };
    if (isSamePlace(placeOf(record, queue), place) && record.rerouting?.queue !== queue)
      return told(record, queue, false);
    const members = await this.#members();
    const unfit = cannotFollow(members);
    if (unfit !== undefined) return unfit;
    return this.#change(request, place, onlyNew);
  }

  async #change({ queue, acceptLoss }: RouteRequest, place: Place, onlyNew: boolean): Promise<Result<RouteView>> {
    let refused: Refused | undefined;
    const record = await this.#amend((now, at) => {
      refused = mayNotBegin(now, queue);
      const isThere = isSamePlace(placeOf(now, queue), place) || (onlyNew && isNamed(now, queue));
      return refused !== undefined || isThere ? undefined : begun(now, { queue, ...place, at, acceptLoss });
    });
    if (record === undefined) return noRecord();
    if (refused !== undefined) return refused;
    const { rerouting } = record;
    // Another one was faster, and wanted the same.
    if (rerouting === undefined) return told(record, queue, false);
    try {
      return await this.#carryOut(rerouting, mapOf(record).all(queue));
    } catch (error) {
      if (!(error instanceof JournalError)) throw error;
      // It may be done, or is called off by the members later.
      const description = `it is not known whether queue ${JSON.stringify(queue)} was routed anew: ${error.message}; "${pastedCommand(['cluster', 'route'], [queue])}" shows it`;
      return { ok: false, refusal: { kind: 'store_unavailable', description, retryAfter: 1_000 } };
    }
  }

  async #carryOut(change: Change, leaves: readonly number[]): Promise<Result<RouteView>> {
    const { clock } = this.options;
    const begunAt = clock.now();
    const { patience = PATIENCE } = this.options;
    let trouble: string | undefined;
    let silent = leaves;
    for (;;) {
      const answers = await this.#answers(change, leaves).catch((error: unknown) => {
        if (!(error instanceof JournalError)) throw error;
        trouble = error.message;
        return undefined;
      });
      if (answers === 'overtaken') return overtaken(change);
      if (answers?.all === true) {
        const { remains, lastToken } = answers;
        return remains === undefined ? await this.#finish(change, lastToken) : await this.#stay(change, remains);
      }
      if (answers !== undefined) silent = answers.silent;
      if (answers !== undefined) trouble = undefined;
      if (this.options.isEnded() || clock.now() - begunAt >= patience) break;
      await this.#pause();
    }
    await callOff(this.options.store, this.options.record.id, change.at);
    if (this.options.isEnded()) return { ok: false, refusal: DRAINING };
    return notGivenUp(change.queue, silent, patience, trouble);
  }

  /** Guards are read behind what homes say: who has claimed by then is no one's word yet. */
  async #answers({ at }: Change, leaves: readonly number[]): Promise<Answers | 'overtaken'> {
    const { store, registry, record: own } = this.options;
    const homes = new Map((await registry.homes()).map((home) => [home.partition, home]));
    const { guards, record, unseen } = await store.look(own.partitions);
    if (record?.id !== own.id || record.rerouting?.at !== at) return 'overtaken';
    const silent: number[] = [];
    const remains: QueueRemains[] = [];
    let lastToken = 0;
    for (const partition of leaves) {
      const home = homes.get(partition);
      const isStanding = home?.epoch === guards[partition]?.epoch && unseen?.has(partition) !== true;
      const statement = isStanding ? home?.statement : undefined;
      if (statement?.at !== at) silent.push(partition);
      else if ('remains' in statement) remains.push(statement.remains);
      else lastToken = Math.max(lastToken, statement.lastToken);
    }
    // What is there hinders it, whatever the others say.
    if (remains.length > 0) return { all: true, remains: sumOf(remains), lastToken };
    if (silent.length === 0) return { all: true, remains: undefined, lastToken };
    return { all: false, silent };
  }

  async #finish(change: Change, lastToken: number): Promise<Result<RouteView>> {
    const unfit = cannotFollow(await this.#members());
    if (unfit !== undefined) {
      await callOff(this.options.store, this.options.record.id, change.at);
      return unfit;
    }
    let isMine = false;
    const record = await this.#amend((now) => {
      isMine = now.rerouting?.at === change.at;
      return isMine ? finished(now, lastToken) : undefined;
    });
    if (record === undefined) return noRecord();
    // The first answer may have been lost: then it is done, too.
    if (!isMine && !isSamePlace(placeOf(record, change.queue), change)) return overtaken(change);
    await this.#untilFollowed(record.version);
    return told(record, change.queue, true);
  }

  async #stay({ queue, at }: Change, remains: QueueRemains): Promise<Refused> {
    await callOff(this.options.store, this.options.record.id, at);
    return notRoutable(queue, remainsText(remains, queue));
  }

  /** Homes refuse who goes by other routes, so nothing is wrong before: calls would only go round. */
  async #untilFollowed(version: number): Promise<void> {
    const { clock } = this.options;
    const begunAt = clock.now();
    while (clock.now() - begunAt < UNTIL_FOLLOWED && !this.options.isEnded()) {
      const members = await this.#members().catch(() => []);
      if (members.every(({ routes }) => routes >= version)) return;
      await this.#pause();
    }
  }

  #wrong(queue: string, place: Place): Refusal | undefined {
    const { queues, defaultPolicy } = this.options.settings;
    const [small] = tooSmallToSpread(queues.get(queue) ?? defaultPolicy, place.spread);
    if (small === undefined) return undefined;
    const what = `${place.spread} is not allowed; ${small.what} of the queue is ${small.value}, and each part has to have something of it; allowed: 1 to ${Math.floor(small.value)}`;
    return badRequest('spread', what);
  }

  async #members(): Promise<readonly Member[]> {
    const all = await this.options.registry.members();
    return all.filter(({ cluster }) => cluster === undefined || cluster === this.options.record.id);
  }

  async #record(): Promise<ClusterRecord | undefined> {
    const { record } = await this.options.store.look(0);
    return record?.id === this.options.record.id ? record : undefined;
  }

  async #amend(change: Parameters<typeof amend>[1]): Promise<ClusterRecord | undefined> {
    const { store, record: own } = this.options;
    const record = await amend(store, (now, at) => (now.id === own.id ? change(now, at) : undefined));
    return record?.id === own.id ? record : undefined;
  }

  async #pause(): Promise<void> {
    await new Promise<void>((resolve) => void this.options.clock.after(LOOK_EVERY, resolve));
  }
}

function placeWanted({ queue, group, spread }: RouteRequest): Place {
  return { ...alone(queue), ...(group !== undefined && { group }), ...(spread !== undefined && { spread }) };
}

function told(record: ClusterRecord, queue: string, isChanged: boolean): Result<RouteView> {
  return { ok: true, value: { route: routeView(record, queue), isChanged } };
}

function mayNotBegin(record: ClusterRecord, queue: string): Refused | undefined {
  const { rerouting, routes } = record;
  if (rerouting !== undefined) {
    const description = `queue ${JSON.stringify(rerouting.queue)} is being routed anew now, one after the other; try again in some seconds`;
    return { ok: false, refusal: { kind: 'limit', subject: 'rerouting', limit: 1, description, retryAfter: 500 } };
  }
  if (!Object.hasOwn(routes, queue) && Object.keys(routes).length >= MOST_ROUTES)
    return notRoutable(queue, `no more than ${MOST_ROUTES} queues have a route of their own; let some share a group`);
  return undefined;
}

/** One that keeps the routes of its start would give a key a second home. */
function cannotFollow(members: readonly Member[]): Refused | undefined {
  const owners = members.filter(({ weight }) => weight > 0);
  const older = owners.filter(({ reroutes }) => reroutes !== true);
  if (older.length > 0) {
    const who = older.map(({ name, version }) => `${name} (version ${version})`).join(', ');
    const description = `routes cannot be changed: ${who} does not follow routes that change; replace these by the newer version first`;
    return { ok: false, refusal: { kind: 'not_possible', because: 'older_members', description } };
  }
  if (owners.length > 0) return undefined;
  const description =
    'routes cannot be changed: no member lives, so nobody knows what the queue holds; start one with a weight above 0';
  return { ok: false, refusal: { kind: 'not_possible', because: 'not_routable', description } };
}

function notGivenUp(
  queue: string,
  silent: readonly number[],
  patience: number,
  trouble: string | undefined,
): { readonly ok: false; readonly refusal: Refusal } {
  const who = `the home of partition ${silent.join(', ')} has not given queue ${JSON.stringify(queue)} up within ${patience / 1_000} s`;
  const why = trouble === undefined ? '' : ` (${trouble})`;
  const description = `${who}${why}, so it stays where it is; try again when "keyturn cluster" shows all partitions open`;
  return { ok: false, refusal: { kind: 'no_home', partition: silent[0] ?? 0, description, retryAfter: 1_000 } };
}

function overtaken({ queue, ...place }: Change): Refused {
  const what = placeText(place, queue);
  return notRoutable(
    queue,
    `that it should have ${what} was called off meanwhile; "${pastedCommand(['cluster', 'route'], [queue])}" shows what counts`,
  );
}

function notRoutable(queue: string, why: string): Refused {
  const description = `queue ${JSON.stringify(queue)} cannot be routed anew: ${why}`;
  return { ok: false, refusal: { kind: 'not_possible', because: 'not_routable', description } };
}
