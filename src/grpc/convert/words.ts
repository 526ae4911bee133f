/** The words of the contract and their numbers on the wire. Total: a new word does not compile until it stands here. */
import type {
  Decision,
  Durability,
  EventKind,
  ItemState,
  LaneState,
  LossCause,
  NackKind,
  NewItem,
  NoticeKind,
  Reason,
} from '../../coordinator.js';
import { EventKind as WireEventKind, LaneState as WireLaneState } from '../gen/keyturn/v1/admin.js';
import {
  AfterUnknown as WireAfterUnknown,
  Decision as WireDecision,
  Durability as WireDurability,
  ItemState as WireItemState,
  LossCause as WireLossCause,
  NackKind as WireNackKind,
  NoticeKind as WireNoticeKind,
  Reason as WireReason,
} from '../gen/keyturn/v1/coordinator.js';

export const DECISIONS: Readonly<Record<Decision, WireDecision>> = {
  accept: WireDecision.DECISION_ACCEPT,
  block: WireDecision.DECISION_BLOCK,
  decline: WireDecision.DECISION_DECLINE,
};

export const REASONS: Readonly<Record<Reason, WireReason>> = {
  waiter_exists: WireReason.REASON_WAITER_EXISTS,
  superseded: WireReason.REASON_SUPERSEDED,
  already_done: WireReason.REASON_ALREADY_DONE,
  too_soon: WireReason.REASON_TOO_SOON,
};

export const NACK_KINDS: Readonly<Record<NackKind, WireNackKind>> = {
  retry: WireNackKind.NACK_KIND_RETRY,
  release: WireNackKind.NACK_KIND_RELEASE,
  dead_letter: WireNackKind.NACK_KIND_DEAD_LETTER,
};

export const DURABILITIES: Readonly<Record<Durability, WireDurability>> = {
  on_flush: WireDurability.DURABILITY_ON_FLUSH,
  interval: WireDurability.DURABILITY_INTERVAL,
  count: WireDurability.DURABILITY_COUNT,
  memory: WireDurability.DURABILITY_MEMORY,
};

export const AFTER_UNKNOWN: Readonly<Record<NewItem['afterUnknown'], WireAfterUnknown>> = {
  refuse: WireAfterUnknown.AFTER_UNKNOWN_REFUSE,
  wait: WireAfterUnknown.AFTER_UNKNOWN_WAIT,
};

export const ITEM_STATES: Readonly<Record<ItemState, WireItemState>> = {
  waiting: WireItemState.ITEM_STATE_WAITING,
  in_flight: WireItemState.ITEM_STATE_IN_FLIGHT,
  done: WireItemState.ITEM_STATE_DONE,
  dead: WireItemState.ITEM_STATE_DEAD,
  superseded: WireItemState.ITEM_STATE_SUPERSEDED,
  discarded: WireItemState.ITEM_STATE_DISCARDED,
  unknown: WireItemState.ITEM_STATE_UNKNOWN,
};

export const LOSS_CAUSES: Readonly<Record<LossCause, WireLossCause>> = {
  lease_expired: WireLossCause.LOSS_CAUSE_LEASE_EXPIRED,
  evicted: WireLossCause.LOSS_CAUSE_EVICTED,
  taken_over: WireLossCause.LOSS_CAUSE_TAKEN_OVER,
  settled: WireLossCause.LOSS_CAUSE_SETTLED,
  unknown: WireLossCause.LOSS_CAUSE_UNKNOWN,
};

export const NOTICE_KINDS: Readonly<Record<NoticeKind, WireNoticeKind>> = {
  turn_lost: WireNoticeKind.NOTICE_KIND_TURN_LOST,
  turn_ending: WireNoticeKind.NOTICE_KIND_TURN_ENDING,
  turn_kept: WireNoticeKind.NOTICE_KIND_TURN_KEPT,
};

export const LANE_STATES: Readonly<Record<LaneState, WireLaneState>> = {
  INIT: WireLaneState.LANE_STATE_INIT,
  PROCESS: WireLaneState.LANE_STATE_PROCESS,
  BLOCK: WireLaneState.LANE_STATE_BLOCK,
  READY: WireLaneState.LANE_STATE_READY,
  DELAY: WireLaneState.LANE_STATE_DELAY,
  PARK: WireLaneState.LANE_STATE_PARK,
};

export const EVENT_KINDS: Readonly<Record<EventKind, WireEventKind>> = {
  arrival: WireEventKind.EVENT_KIND_ARRIVAL,
  turn: WireEventKind.EVENT_KIND_TURN,
  settlement: WireEventKind.EVENT_KIND_SETTLEMENT,
  expiry: WireEventKind.EVENT_KIND_EXPIRY,
  eviction: WireEventKind.EVENT_KIND_EVICTION,
  dead_letter: WireEventKind.EVENT_KIND_DEAD_LETTER,
  leaving: WireEventKind.EVENT_KIND_LEAVING,
  park: WireEventKind.EVENT_KIND_PARK,
  resume: WireEventKind.EVENT_KIND_RESUME,
  redrive: WireEventKind.EVENT_KIND_REDRIVE,
  discard: WireEventKind.EVENT_KIND_DISCARD,
  retry_now: WireEventKind.EVENT_KIND_RETRY_NOW,
};

/** The words of a table with their numbers; a loop, not `Object.entries`, so that the words keep their type. */
export function wordOf<W extends string>(table: Readonly<Record<W, number>>, wire: number): W | undefined {
  for (const word in table) if (table[word] === wire) return word;
  return undefined;
}

export function wordsOf<W extends string>(table: Readonly<Record<W, number>>): readonly W[] {
  const words: W[] = [];
  for (const word in table) words.push(word);
  return words;
}
