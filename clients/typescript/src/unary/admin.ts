/** What people ask of a sidecar: how it stands, and to change it. */
import { credentials } from '@grpc/grpc-js';
import type { Connection } from '../connection/connection.js';
import { AdminServiceClient } from '../gen/keyturn/v1/admin.js';
import { LeaderServiceClient } from '../gen/keyturn/v1/leader.js';
import * as admin from '../wire/admin.js';
import { optionalFlag } from '../wire/fields.js';
import { groupInfo } from '../wire/leaders.js';
import { serverInfo } from '../wire/server-info.js';
import { sessionPage } from '../wire/sessions.js';
import { isServiceError } from '../wire/status.js';
import { fromWireToken } from '../wire/time.js';
import type {
  ClusterInfo,
  DeadLetterPage,
  EventBatch,
  EvictionView,
  FinalizeInfo,
  KeyExplanation,
  KeyPage,
  LaneState,
  LimitsChange,
  LimitsView,
  ListKeysCall,
  ListQueuesCall,
  MovedPartition,
  QueuePage,
  RestoreCall,
  RestoreInfo,
  RetryNowCall,
  RetryNowView,
  RouteCall,
  RoutedQueue,
} from '../words/admin-words.js';
import type { CallSettings, ChangeSettings, EvictSettings } from '../words/calls.js';
import type { ChangeBounds, ChangedItems, ItemChoiceCall, ListDeadLettersCall } from '../words/dead-letter-words.js';
import { KeyturnError } from '../words/errors.js';
import type { GetItemCall, ItemReport } from '../words/item-report.js';
import type { GroupInfo } from '../words/leader-words.js';
import type { ServerInfo } from '../words/server-view.js';
import type { ListSessionsCall, SessionPage } from '../words/session-view.js';
import { shown } from '../words/values.js';
import { OpenCalls } from './open-calls.js';

/** A sidecar waits for a move for so long, ms. */
const MOVE_TAKES = 20_000;
/** A sidecar waits for homes for 10 s, and for members to follow for 5 s, ms. */
const ROUTE_TAKES = 20_000;
/** A sidecar gathers what members keep (a session and a few seconds), and waits 20 s for them to write it back, ms. */
const RESTORE_TAKES = 60_000;

/** The calls of AdminService. They are unary whatever the transport of the worker's calls is. */
export class AdminCalls {
  readonly #admin: AdminServiceClient;
  readonly #leaders: LeaderServiceClient;
  readonly #calls: OpenCalls;

  constructor({ address, options, reach }: Connection) {
    this.#calls = new OpenCalls(reach);
    this.#admin = new AdminServiceClient(address, credentials.createInsecure(), options);
    this.#leaders = new LeaderServiceClient(address, credentials.createInsecure(), options);
  }

  /** A page of the queues, by name. Without `pageSize` as many as fit into one answer: some thousands. */
  async listQueues(call: ListQueuesCall = {}, settings?: CallSettings): Promise<QueuePage> {
    const client = this.#admin;
    return admin.queuePage(await this.#calls.ask(client, client.listQueues, admin.wireListQueues(call), settings));
  }

  async listKeys(call: ListKeysCall, settings?: CallSettings): Promise<KeyPage> {
    const client = this.#admin;
    return admin.keyPage(await this.#calls.ask(client, client.listKeys, admin.wireListKeys(call), settings));
  }

  async explainKey(queue: string, key: string, settings?: CallSettings): Promise<KeyExplanation> {
    const client = this.#admin;
    return admin.keyExplanation(await this.#calls.ask(client, client.explainKey, { queue, key }, settings));
  }

  /** Who is connected, and what they hold. */
  async listSessions(call: ListSessionsCall = {}, settings?: CallSettings): Promise<SessionPage> {
    const client = this.#admin;
    const { idContains = '', pageSize = 0, pageToken = '' } = call;
    return sessionPage(
      await this.#calls.ask(client, client.listSessions, { idContains, pageSize, pageToken }, settings),
    );
  }

  /** Of the sidecar that is asked, and of who asks. */
  async getServer(settings?: CallSettings): Promise<ServerInfo> {
    const client = this.#admin;
    return serverInfo(await this.#calls.ask(client, client.getServer, {}, settings));
  }

  /** What became of one item. With its payload and result when asked for. */
  async getItem({ queue, itemId, withPayload }: GetItemCall, settings?: CallSettings): Promise<ItemReport> {
    const client = this.#admin;
    const request = { queue, itemId, withPayload: optionalFlag('withPayload', withPayload) };
    return admin.itemReport(await this.#calls.ask(client, client.getItem, request, settings));
  }

  /** Takes the turn of a key away. Its items go back without counting an attempt; with `discard` they are discarded in the same step. */
  async evictHolder(queue: string, key: string, settings?: EvictSettings): Promise<EvictionView> {
    const client = this.#admin;
    const { discard = false, ...others } = settings ?? {};
    const asked = { queue, key, discard, ...why(others) };
    return admin.evictionView(await this.#calls.ask(client, client.evictHolder, asked, own(others)));
  }

  /** Ends what only time keeps back: of a key, or of an item wherever it stands. */
  async retryNow(call: RetryNowCall, settings?: ChangeSettings): Promise<RetryNowView> {
    const client = this.#admin;
    return admin.retryNowView(
      await this.#calls.ask(client, client.retryNow, admin.wireRetryNow(call, why(settings).reason), own(settings)),
    );
  }

  async resumeKey(
    queue: string,
    key: string,
    settings?: ChangeSettings,
  ): Promise<{ readonly resumed: boolean; readonly state: LaneState }> {
    const client = this.#admin;
    const { resumed, state } = await this.#calls.ask(
      client,
      client.resumeKey,
      { queue, key, ...why(settings) },
      own(settings),
    );
    return { resumed, state: admin.stateOf(state) };
  }

  async pauseQueue(queue: string, settings?: ChangeSettings): Promise<void> {
    const client = this.#admin;
    await this.#calls.ask(client, client.pauseQueue, { queue, ...why(settings) }, own(settings));
  }

  async resumeQueue(queue: string, settings?: ChangeSettings): Promise<void> {
    const client = this.#admin;
    await this.#calls.ask(client, client.resumeQueue, { queue, ...why(settings) }, own(settings));
  }

  async setLimits(queue: string, change: LimitsChange, settings?: ChangeSettings): Promise<LimitsView> {
    const client = this.#admin;
    return admin.limitsView(
      await this.#calls.ask(
        client,
        client.setLimits,
        admin.wireSetLimits(queue, change, why(settings).reason),
        own(settings),
      ),
    );
  }

  async listDeadLetters(call: ListDeadLettersCall, settings?: CallSettings): Promise<DeadLetterPage> {
    const client = this.#admin;
    return admin.deadLetterPage(
      await this.#calls.ask(client, client.listDeadLetters, admin.wireListDeadLetters(call), settings),
    );
  }

  /** @returns how many went back */
  async redrive(choice: ItemChoiceCall, settings?: ChangeSettings): Promise<number> {
    const client = this.#admin;
    return (
      await this.#calls.ask(client, client.redrive, admin.wireChoice(choice, {}, why(settings).reason), own(settings))
    ).redriven;
  }

  /** @returns how many are gone */
  async discard(choice: ItemChoiceCall, waiting: boolean, settings?: ChangeSettings): Promise<number> {
    const client = this.#admin;
    const request = {
      ...admin.wireChoice(choice, {}, why(settings).reason),
      waiting: optionalFlag('waiting', waiting),
    };
    return (await this.#calls.ask(client, client.discard, request, own(settings))).discarded;
  }

  /** As {@link redrive}, of those that the filter lets through, no further than the bounds. */
  async redriveSome(choice: ItemChoiceCall, bounds: ChangeBounds, settings?: ChangeSettings): Promise<ChangedItems> {
    const client = this.#admin;
    await this.#isKnown(choice, bounds, settings);
    const request = admin.wireChoice(choice, bounds, why(settings).reason);
    const answer = await this.#calls.ask(client, client.redrive, request, own(settings));
    return admin.changedItems(answer.redriven, answer);
  }

  /** As {@link discard}, of those that the filter lets through, no further than the bounds. */
  async discardSome(
    choice: ItemChoiceCall & { readonly waiting?: boolean | undefined },
    bounds: ChangeBounds,
    settings?: ChangeSettings,
  ): Promise<ChangedItems> {
    const client = this.#admin;
    const waiting = optionalFlag('waiting', choice.waiting);
    await this.#isKnown(choice, bounds, settings);
    const request = { ...admin.wireChoice(choice, bounds, why(settings).reason), waiting };
    const answer = await this.#calls.ask(client, client.discard, request, own(settings));
    return admin.changedItems(answer.discarded, answer);
  }

  /**
   * A sidecar of before there was a filter and a dry run reads past them, and would take all. It has no GetServer either.
   * @throws KeyturnError (UNIMPLEMENTED)
   */
  async #isKnown({ filter }: ItemChoiceCall, { dryRun }: ChangeBounds, settings?: ChangeSettings): Promise<void> {
    if (filter === undefined && dryRun !== true) return;
    try {
      await this.getServer(own(settings));
    } catch (error) {
      if (!(error instanceof KeyturnError) || error.code !== 'UNIMPLEMENTED') throw error;
      const why = 'the sidecar is of a version that knows neither filter nor dry run, and would take all dead letters';
      throw new KeyturnError(why, 'UNIMPLEMENTED');
    }
  }

  /** How the sidecar sees its cluster. One that stands alone refuses (`NO_CLUSTER`). */
  async getCluster(settings?: CallSettings): Promise<ClusterInfo> {
    const client = this.#admin;
    return admin.clusterInfo(await this.#calls.ask(client, client.getCluster, {}, settings));
  }

  /**
   * Makes a member the home of a partition, for as long as that member lives, and waits until it is. After 20 s it answers with
   * what is in the way (`under_way`).
   * @param member its id, the beginning of it (4 characters or more), or its name
   */
  movePartition(partition: number, member: string, settings?: ChangeSettings): Promise<MovedPartition> {
    return this.#move({ partition, member, anywhere: false, ...why(settings) }, settings);
  }

  /** A partition that was moved by hand is put where the cluster likes again. */
  releasePartition(partition: number, settings?: ChangeSettings): Promise<MovedPartition> {
    return this.#move({ partition, member: '', anywhere: true, ...why(settings) }, settings);
  }

  async #move(request: Parameters<AdminServiceClient['movePartition']>[0], settings?: ChangeSettings) {
    const client = this.#admin;
    return admin.movedPartition(
      await this.#calls.ask(client, client.movePartition, request, own(settings), MOVE_TAKES),
    );
  }

  /** Fixes the format of rows after an upgrade: sidecars that cannot read it do not join from then on. */
  async finalizeCluster(settings?: ChangeSettings): Promise<FinalizeInfo> {
    const client = this.#admin;
    return this.#calls.ask(client, client.finalizeCluster, why(settings), own(settings));
  }

  /**
   * Tells where a queue lives in the cluster, or changes that, while the queue is empty: else it is refused (`NOT_ROUTABLE`), and
   * nothing has changed.
   */
  async routeQueue(call: RouteCall, settings?: ChangeSettings): Promise<RoutedQueue> {
    const client = this.#admin;
    return admin.routedQueue(
      await this.#calls.ask(
        client,
        client.routeQueue,
        admin.wireRoute(call, why(settings).reason),
        own(settings),
        ROUTE_TAKES,
      ),
    );
  }

  /**
   * Writes partitions back from the memory of live members, after the store was emptied. What is `under_way` may be asked for again.
   */
  async restorePartitions(call: RestoreCall = {}, settings?: ChangeSettings): Promise<RestoreInfo> {
    const client = this.#admin;
    const request = {
      partitions: [...(call.partitions ?? [])],
      acceptLoss: call.acceptLoss ?? false,
      ...why(settings),
    };
    return this.#calls.ask(client, client.restorePartitions, request, own(settings), RESTORE_TAKES);
  }

  /**
   * What happens from now on, until the loop is left, `signal` aborts, or the sidecar stops.
   * @param queue unset: all queues
   * @param key unset: all keys
   */
  async *watchEvents(
    queue?: string,
    key?: string,
    settings?: Pick<CallSettings, 'signal'>,
  ): AsyncGenerator<EventBatch> {
    const stream = this.#calls.open(() => this.#admin.watchEvents({ queue: queue ?? '', key }));
    const cancel = () => stream.cancel();
    settings?.signal?.addEventListener('abort', cancel, { once: true });
    try {
      for await (const message of stream) yield admin.eventBatch(message);
    } catch (error) {
      throw isServiceError(error) ? await this.#calls.told(error, { signal: settings?.signal }) : error;
    } finally {
      this.#calls.remove(stream);
      settings?.signal?.removeEventListener('abort', cancel);
      stream.cancel();
    }
  }

  /** Who leads a group, asked where that is decided. */
  async getLeader(group: string, settings?: CallSettings): Promise<GroupInfo> {
    const client = this.#leaders;
    return groupInfo(await this.#calls.ask(client, client.getLeader, { group }, settings));
  }

  /** Asks the leader of a group to hand over. @returns who was asked; undefined: nobody leads */
  async yieldLeader(
    group: string,
    settings?: ChangeSettings,
  ): Promise<{ readonly candidateId: string; readonly term: number } | undefined> {
    const client = this.#leaders;
    const { asked, candidateId, term } = await this.#calls.ask(
      client,
      client.yieldLeader,
      { group, ...why(settings) },
      own(settings),
    );
    return asked ? { candidateId, term: fromWireToken(term) } : undefined;
  }

  /** Who leads a group, now and whenever that changes, until the signal aborts. */
  async *watchLeader(group: string, settings?: Pick<CallSettings, 'signal'>): AsyncGenerator<GroupInfo> {
    const stream = this.#calls.open(() => this.#leaders.watchLeader({ group }));
    const cancel = () => stream.cancel();
    settings?.signal?.addEventListener('abort', cancel, { once: true });
    try {
      for await (const { now } of stream) if (now !== undefined) yield groupInfo(now);
    } catch (error) {
      throw isServiceError(error) ? await this.#calls.told(error, { signal: settings?.signal }) : error;
    } finally {
      this.#calls.remove(stream);
      settings?.signal?.removeEventListener('abort', cancel);
      stream.cancel();
    }
  }

  /** Calls and watches that are open are ended (CANCELLED), and none begins from now on. */
  close(): void {
    this.#calls.close();
  }
}

/** As of a call that changes nothing. */
function own(settings: ChangeSettings | undefined): CallSettings | undefined {
  if (typeof settings !== 'object' || settings === null) return settings;
  const { reason: _, ...rest } = settings;
  return rest;
}

function why(settings: ChangeSettings | undefined): { reason: string } {
  return { reason: optionalReason(settings?.reason) };
}

/** @throws KeyturnError (INVALID_ARGUMENT) */
function optionalReason(reason: unknown = ''): string {
  if (typeof reason !== 'string')
    throw new KeyturnError(`reason is ${shown(reason)}; allowed is a text`, 'INVALID_ARGUMENT');
  return reason;
}
