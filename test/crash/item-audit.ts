/** What must be true of all items when everything is over: everything was drained, and Await was asked for each. */
import type { Account } from './account.js';
import type { Item } from './item.js';
import type { ItemBook } from './item-book.js';

export function auditItems(book: ItemBook, account: Account): void {
  for (const item of book.all) checkEnd(item, book, account);
  checkFollowUps(book.all, account);
  checkOrder(book.all, account);
}

/** I6, and each result as it was acked. */
function checkEnd(item: Item, book: ItemBook, account: Account): void {
  const { tag, found, told } = item;
  if (told !== undefined && (found?.state !== 'done' || found.result !== told.result))
    account.broken(`${tag} was told to be done with ${told.result}, and is ${found?.state} with ${found?.result}`);
  switch (found?.state) {
    case 'done':
      return checkDone(item, found.result, book, account);
    case 'dead':
      if (item.acked !== undefined)
        account.broken(`${tag} is dead, and its Ack in turn ${item.acked} was answered with OK`);
      return;
    case 'unknown':
    case undefined:
      if (item.wasTakenOver) account.broken(`${tag} was accepted, and is lost`);
      return;
    default:
      account.broken(`${tag} is ${found?.state} when everything is over`);
  }
}

function checkDone(item: Item, result: string | undefined, book: ItemBook, account: Account): void {
  const { tag, acked, acks } = item;
  const said = acked === undefined ? undefined : acks.get(acked);
  const mayBe =
    said !== undefined
      ? said.result === result
      : doneBy(item) !== undefined ||
        (item.mayBeDoneByNack && result === undefined) ||
        book.doneKeys.mayHave(item, result);
  if (mayBe) return;
  const expected = said === undefined ? 'nobody asked for that' : `its Ack said ${said.result}`;
  account.broken(`${tag} is done with ${result}; ${expected}`);
}

/** The Ack that its result came from. */
function doneBy({ acks, found }: Item): { readonly followUps: readonly string[] } | undefined {
  if (found?.state !== 'done') return undefined;
  return [...acks.values()].find(({ result }) => result === found.result);
}

/** An Ack and its follow-ups: both or neither. Results name their turn, so that it is known which Ack was carried out. */
function checkFollowUps(items: readonly Item[], account: Account): void {
  const byTag = new Map(items.map((item) => [item.tag, item]));
  for (const item of items) {
    const carriedOut = doneBy(item);
    for (const ack of item.acks.values()) {
      for (const tag of ack.followUps) {
        const followUp = byTag.get(tag);
        // It may have been declined, and is remembered nowhere then.
        if (followUp?.idempotencyKey !== undefined) continue;
        const isThere = followUp?.found !== undefined && followUp.found.state !== 'unknown';
        if (isThere === (ack === carriedOut)) continue;
        const what = isThere ? 'is there without the Ack' : 'is not there, and the Ack is';
        account.broken(`${tag}, which follows ${item.tag}, ${what}`);
      }
    }
  }
}

/**
 * I3: the first turns of a key's items come as they were submitted. Known is the order within a call, and between items of
 * which one was accepted before the other was offered.
 */
function checkOrder(items: readonly Item[], account: Account): void {
  const lanes = new Map<string, (Item & { readonly first: NonNullable<Item['first']> })[]>();
  for (const item of items) {
    if (item.key === '' || !hasBegun(item) || item.wasRedriven) continue;
    const name = `${item.queue}/${item.key}`;
    const lane = lanes.get(name) ?? [];
    lane.push(item);
    lanes.set(name, lane);
  }
  for (const [name, lane] of lanes) {
    const begun = lane.sort((a, b) => a.first.token - b.first.token || a.first.place - b.first.place);
    checkLane(name, begun, account);
  }
}

function hasBegun(item: Item): item is Item & { readonly first: NonNullable<Item['first']> } {
  return item.first !== undefined;
}

/** @param begun in the order of their first turns */
function checkLane(name: string, begun: readonly Item[], account: Account): void {
  let newest: Item | undefined;
  const ofBatch = new Map<number, Item>();
  for (const item of begun) {
    const sibling = ofBatch.get(item.batch);
    const wasBefore = newest !== undefined && (item.acceptedAt ?? Infinity) < newest.offeredAt ? newest : undefined;
    const overtaker = sibling !== undefined && sibling.place > item.place ? sibling : wasBefore;
    if (overtaker !== undefined)
      account.broken(`${overtaker.tag} of ${name} came before ${item.tag}, submitted earlier`);
    ofBatch.set(item.batch, item);
    if (newest === undefined || item.offeredAt > newest.offeredAt) newest = item;
  }
}
