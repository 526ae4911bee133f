/**
 * The lane machine as the contract has it (section 2, and docs/SPEC.md): what each event does in each state, who is
 * told what, and who stands in the line afterwards. Written from those pages, not from the code.
 */
import type { LaneState } from '../../../src/coordinator.js';
import { held, heldWith, NEW_START, NONE, PACED, type Row, stale, stays, to, two, waits } from './cases.js';

const INIT: Row = {
  ...stale('INIT', NONE),
  caller_arrives: [to('PROCESS', NONE, '', 'newcomer ACCEPT'), to('READY', { paused: true }, 'newcomer')],
  items_arrive: [to('READY', NONE, 'new', 'newcomer ACCEPT')],
  dispatch: [stays('INIT', NONE, 'worker nothing')],
  lease_ends: [stays('INIT', NONE)],
  wait_ends: [stays('INIT', NONE)],
  ticket_ends: [stays('INIT', NONE)],
  cancel: [stays('INIT', NONE)],
  take_over: [stays('INIT', { queue: 'takeOver' })],
  evict: [stays('INIT', NONE, 'person nobody')],
  delay_ends: [stays('INIT', NONE)],
  gate_opens: [stays('INIT', NONE, 'person opened')],
  retry_now: [stays('INIT', NONE, 'person NO_SUCH')],
  resume: [stays('INIT', NONE, 'person not parked')],
  redrive: [to('READY', NONE, 'dead', 'person 1 back')],
  discard: [stays('INIT', NONE, 'person 0 gone')],
  adopt: [to('PROCESS', NEW_START, '', 'renewer ALIVE'), stays('INIT', NONE, 'renewer LOST unknown')],
};

const PROCESS: Row = {
  caller_arrives: [to('BLOCK', held('caller'), 'newcomer'), to('BLOCK', held('item'), 'newcomer')],
  items_arrive: [to('BLOCK', held('caller'), 'new', 'newcomer ACCEPT')],
  dispatch: [
    stays('PROCESS', held('caller'), 'worker nothing'),
    // Its own item is in flight: there is nothing to give twice.
    stays('PROCESS', held('item'), 'worker nothing'),
  ],
  settle_done: [to('INIT', held('caller'), '', 'settler OK'), to('INIT', held('item'), '', 'settler OK')],
  settle_retry: [to('DELAY', held('item'), 'own', 'settler OK retry'), to('INIT', held('caller'), '', 'settler OK')],
  settle_release: [to('READY', held('item'), 'own', 'settler OK'), to('INIT', held('caller'), '', 'settler OK')],
  settle_dead_letter: [
    to('PARK', held('item'), '', 'settler OK dead 1'),
    to('INIT', held('item', 'skip'), '', 'settler OK dead 1'),
    to('INIT', held('caller'), '', 'settler OK'),
  ],
  renew: [to('PROCESS', held('caller'), '', 'renewer ALIVE'), to('PROCESS', held('item'), '', 'renewer ALIVE')],
  lease_ends: [to('INIT', held('caller'), ''), to('DELAY', held('item'), 'own')],
  wait_ends: [stays('PROCESS', held('caller'))],
  ticket_ends: [to('INIT', held('absent'), ''), stays('PROCESS', held('caller'))],
  cancel: [stays('PROCESS', held('caller'))],
  take_over: [stays('PROCESS', held('caller', 'takeOver'))],
  evict: [to('INIT', held('caller'), '', 'person evicted'), to('READY', held('item'), 'own', 'person evicted')],
  delay_ends: [stays('PROCESS', held('caller'))],
  gate_opens: [stays('PROCESS', held('caller'), 'person opened')],
  retry_now: [stays('PROCESS', held('caller'), 'person nothing ended')],
  resume: [stays('PROCESS', held('caller'), 'person not parked')],
  redrive: [to('BLOCK', held('caller'), 'dead', 'person 1 back')],
  // S34: what is in flight is not touched.
  discard: [stays('PROCESS', held('item'), 'person 0 gone')],
  adopt: [
    // I11: of two for one key the larger token wins.
    to('PROCESS', { ...NEW_START, holder: 'caller' }, '', 'renewer ALIVE'),
    stays('PROCESS', held('caller'), 'renewer LOST unknown'),
  ],
};

const BLOCK: Row = {
  caller_arrives: [
    stays('BLOCK', heldWith('caller', 'caller'), 'newcomer DECLINE waiter_exists'),
    stays('BLOCK', heldWith('caller', 'item'), 'newcomer DECLINE waiter_exists'),
    to('BLOCK', heldWith('caller', 'caller', 'strict'), 'caller newcomer'),
    to('BLOCK', heldWith('caller', 'caller', 'replace'), 'newcomer', 'caller DECLINE superseded'),
  ],
  items_arrive: [
    to('BLOCK', heldWith('caller', 'caller'), 'caller new', 'newcomer ACCEPT'),
    to('BLOCK', heldWith('caller', 'caller', 'replace'), 'new', 'caller DECLINE superseded', 'newcomer ACCEPT'),
  ],
  dispatch: [stays('BLOCK', heldWith('caller', 'item'), 'worker nothing')],
  settle_done: [
    to('PROCESS', heldWith('caller', 'caller'), '', 'caller ACCEPT', 'settler OK promoted'),
    to('PROCESS', heldWith('item', 'caller'), '', 'caller ACCEPT', 'settler OK'),
    // Its turn has come meanwhile: it is held for it.
    to('PROCESS', heldWith('caller', 'absent'), '', 'settler OK promoted'),
    to('READY', heldWith('caller', 'item'), 'item', 'settler OK'),
  ],
  settle_retry: [
    to('DELAY', heldWith('item', 'caller'), 'own caller', 'settler OK retry'),
    to('DELAY', heldWith('item', 'item'), 'own item', 'settler OK retry'),
    to('PROCESS', heldWith('caller', 'caller'), '', 'caller ACCEPT', 'settler OK'),
  ],
  settle_release: [
    to('READY', heldWith('item', 'caller'), 'own caller', 'settler OK'),
    to('PROCESS', heldWith('caller', 'caller'), '', 'caller ACCEPT', 'settler OK'),
  ],
  settle_dead_letter: [
    to('PARK', heldWith('item', 'caller'), 'caller', 'settler OK dead 1'),
    to('PROCESS', heldWith('item', 'caller', 'skip'), '', 'caller ACCEPT', 'settler OK dead 1'),
  ],
  renew: [to('BLOCK', heldWith('caller', 'caller'), 'caller', 'renewer ALIVE')],
  lease_ends: [
    to('PROCESS', heldWith('caller', 'caller'), '', 'caller ACCEPT'),
    to('READY', heldWith('caller', 'item'), 'item'),
    to('DELAY', heldWith('item', 'caller'), 'own caller'),
  ],
  wait_ends: [
    to('PROCESS', heldWith('caller', 'caller'), '', 'caller BLOCK ahead 1'),
    // S8: its ticket keeps the place.
    to('BLOCK', heldWith('caller', 'ticketed'), 'ticketed', 'ticketed BLOCK ahead 1'),
  ],
  ticket_ends: [
    to('PROCESS', heldWith('caller', 'absent'), ''),
    to('PROCESS', heldWith('absent', 'caller'), '', 'caller ACCEPT'),
  ],
  cancel: [to('PROCESS', heldWith('caller', 'caller'), ''), stays('BLOCK', heldWith('caller', 'ticketed'))],
  take_over: [
    to('PROCESS', heldWith('caller', 'caller', 'takeOver'), '', 'caller ACCEPT'),
    // Only a caller is driven out.
    to('PROCESS', heldWith('item', 'caller', 'takeOver'), '', 'caller BLOCK ahead 1'),
  ],
  evict: [
    to('PROCESS', heldWith('caller', 'caller'), '', 'caller ACCEPT', 'person evicted'),
    to('READY', heldWith('item', 'caller'), 'own caller', 'person evicted'),
  ],
  delay_ends: [stays('BLOCK', heldWith('caller', 'item'))],
  gate_opens: [stays('BLOCK', heldWith('caller', 'caller'), 'person opened')],
  retry_now: [stays('BLOCK', heldWith('caller', 'item'), 'person nothing ended')],
  resume: [stays('BLOCK', heldWith('caller', 'caller'), 'person not parked')],
  redrive: [
    to('BLOCK', heldWith('caller', 'caller'), 'dead caller', 'person 1 back'),
    to('BLOCK', heldWith('caller', 'item'), 'dead item', 'person 1 back'),
  ],
  discard: [
    to('PROCESS', heldWith('caller', 'item'), '', 'person 1 gone'),
    stays('BLOCK', heldWith('caller', 'caller'), 'person 0 gone'),
  ],
  adopt: [
    to('BLOCK', { ...NEW_START, holder: 'caller', line: ['caller'] }, 'caller', 'renewer ALIVE'),
    stays('BLOCK', heldWith('caller', 'caller'), 'renewer LOST unknown'),
  ],
};

/** A caller at the head waits for a paused queue, an item for a worker. */
const READY: Row = {
  ...stale('READY', waits('item')),
  caller_arrives: [
    stays('READY', waits('item'), 'newcomer DECLINE waiter_exists'),
    stays('READY', waits('caller'), 'newcomer DECLINE waiter_exists'),
    to('READY', waits('item', 'strict'), 'item newcomer'),
  ],
  items_arrive: [to('READY', waits('item'), 'item new', 'newcomer ACCEPT')],
  dispatch: [
    to('PROCESS', waits('item'), '', 'worker turn with item'),
    to('BLOCK', two('item', 'caller'), 'caller', 'worker turn with item'),
    stays('READY', waits('caller'), 'worker nothing'),
  ],
  lease_ends: [stays('READY', waits('item'))],
  wait_ends: [
    to('INIT', waits('caller'), '', 'caller BLOCK ahead 0'),
    to('READY', two('item', 'caller'), 'item', 'caller BLOCK ahead 1'),
  ],
  ticket_ends: [to('INIT', waits('absent'), '')],
  cancel: [
    to('INIT', waits('caller'), ''),
    to('READY', two('item', 'caller'), 'item'),
    stays('READY', waits('ticketed')),
  ],
  // There is nobody to take it from.
  take_over: [
    stays('READY', waits('item', 'takeOver')),
    to('INIT', waits('caller', 'takeOver'), '', 'caller BLOCK ahead 0'),
  ],
  evict: [stays('READY', waits('item'), 'person nobody')],
  delay_ends: [stays('READY', waits('item'))],
  gate_opens: [
    to('PROCESS', waits('caller'), '', 'caller ACCEPT', 'person opened'),
    to('PROCESS', waits('absent'), '', 'person opened'),
    stays('READY', waits('item'), 'person opened'),
  ],
  retry_now: [stays('READY', waits('item'), 'person nothing ended')],
  resume: [stays('READY', waits('item'), 'person not parked')],
  redrive: [
    to('READY', waits('item'), 'dead item', 'person 1 back'),
    to('READY', waits('caller'), 'dead caller', 'person 1 back'),
  ],
  discard: [to('INIT', waits('item'), '', 'person 1 gone'), stays('READY', waits('caller'), 'person 0 gone')],
  adopt: [
    to('BLOCK', { ...NEW_START, line: ['item'] }, 'item', 'renewer ALIVE'),
    to('BLOCK', { ...NEW_START, line: ['caller'] }, 'caller', 'renewer ALIVE'),
    stays('READY', waits('item'), 'renewer LOST unknown'),
  ],
};

/** The item at the head is delayed, or (`paced`) the key's `min_interval` has not passed. */
const DELAY: Row = {
  ...stale('DELAY', waits('item')),
  caller_arrives: [
    stays('DELAY', waits('item'), 'newcomer DECLINE waiter_exists'),
    to('DELAY', PACED, 'newcomer'),
    stays('DELAY', { queue: 'impatient' }, 'newcomer DECLINE too_soon'),
  ],
  items_arrive: [
    to('DELAY', waits('item'), 'item new', 'newcomer ACCEPT'),
    to('DELAY', PACED, 'new', 'newcomer ACCEPT'),
    stays('DELAY', { queue: 'impatient' }, 'newcomer DECLINE'),
  ],
  dispatch: [stays('DELAY', waits('item'), 'worker nothing'), stays('DELAY', waits('item', 'paced'), 'worker nothing')],
  lease_ends: [stays('DELAY', waits('item')), stays('DELAY', PACED)],
  wait_ends: [to('DELAY', waits('caller', 'paced'), '', 'caller BLOCK ahead 0'), stays('DELAY', waits('item'))],
  ticket_ends: [to('DELAY', waits('absent', 'paced'), '')],
  cancel: [to('DELAY', waits('caller', 'paced'), ''), stays('DELAY', waits('ticketed', 'paced'))],
  take_over: [stays('DELAY', waits('item', 'takeOver'))],
  evict: [stays('DELAY', waits('item'), 'person nobody')],
  delay_ends: [
    to('READY', waits('item'), 'item'),
    to('READY', waits('item', 'paced'), 'item'),
    to('PROCESS', waits('caller', 'paced'), '', 'caller ACCEPT'),
    // Even with an empty line it was not dropped.
    to('INIT', PACED, ''),
  ],
  gate_opens: [
    stays('DELAY', waits('item'), 'person opened'),
    stays('DELAY', waits('caller', 'paced'), 'person opened'),
  ],
  retry_now: [
    to('READY', waits('item'), 'item', 'person ended delay'),
    to('READY', waits('item', 'paced'), 'item', 'person ended min_interval'),
    to('PROCESS', waits('caller', 'paced'), '', 'caller ACCEPT', 'person ended min_interval'),
    to('INIT', PACED, '', 'person ended min_interval'),
  ],
  resume: [stays('DELAY', waits('item'), 'person not parked')],
  // S24: redriven items go before the one that waits for its delay, and do not wait for it.
  redrive: [to('READY', waits('item'), 'dead item', 'person 1 back')],
  discard: [to('INIT', waits('item'), '', 'person 1 gone'), to('DELAY', waits('item', 'paced'), '', 'person 1 gone')],
  adopt: [
    to('BLOCK', { ...NEW_START, line: ['item'] }, 'item', 'renewer ALIVE'),
    stays('DELAY', waits('item'), 'renewer LOST unknown'),
  ],
};

const PARK: Row = {
  ...stale('PARK', waits('item')),
  caller_arrives: [to('PARK', NONE, 'newcomer'), stays('PARK', waits('item'), 'newcomer DECLINE waiter_exists')],
  items_arrive: [to('PARK', NONE, 'new', 'newcomer ACCEPT'), to('PARK', waits('item'), 'item new', 'newcomer ACCEPT')],
  dispatch: [stays('PARK', waits('item'), 'worker nothing')],
  lease_ends: [stays('PARK', waits('item'))],
  wait_ends: [
    to('PARK', waits('caller'), '', 'caller BLOCK ahead 0'),
    to('PARK', waits('ticketed'), 'ticketed', 'ticketed BLOCK ahead 0'),
  ],
  ticket_ends: [to('PARK', waits('absent'), '')],
  cancel: [to('PARK', waits('caller'), ''), stays('PARK', waits('ticketed'))],
  take_over: [stays('PARK', waits('item', 'takeOver'))],
  evict: [stays('PARK', NONE, 'person nobody')],
  delay_ends: [stays('PARK', waits('item'))],
  gate_opens: [stays('PARK', waits('caller'), 'person opened')],
  retry_now: [stays('PARK', waits('item'), 'person NOT_DELAYED')],
  resume: [
    to('INIT', NONE, '', 'person resumed'),
    to('READY', waits('item'), 'item', 'person resumed'),
    to('PROCESS', waits('caller'), '', 'caller ACCEPT', 'person resumed'),
    to('PROCESS', waits('absent'), '', 'person resumed'),
  ],
  // A parked key stays parked until resumed.
  redrive: [to('PARK', NONE, 'dead', 'person 1 back'), to('PARK', waits('item'), 'dead item', 'person 1 back')],
  discard: [to('PARK', waits('item'), '', 'person 1 gone'), stays('PARK', NONE, 'person 0 gone')],
  // While `startup_hold` lasts a key parks only by what an item of it waits for: `adopted-park.test.ts`.
  adopt: [stays('PARK', waits('item'), 'renewer LOST unknown')],
};

export const EXPECTED: Readonly<Record<LaneState, Row>> = { INIT, PROCESS, BLOCK, READY, DELAY, PARK };
