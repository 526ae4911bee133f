/**
 * The ledger outside: written by what clients ask, are told, and do, and by nothing that the sidecar says of itself. It
 * survives every crash, believes nobody, and notes what must not be.
 */
import { Account } from './account.js';
import { auditItems } from './item-audit.js';
import { ItemBook } from './item-book.js';
import { type Strictness, TurnBook } from './turn-book.js';

export class Ledger {
  readonly account = new Account();
  readonly turns: TurnBook;
  readonly items: ItemBook;

  /** @param maxAttempts of every queue */
  constructor(maxAttempts: number, strictness: Strictness = 'whole') {
    this.turns = new TurnBook(this.account, strictness);
    this.items = new ItemBook(this.account, maxAttempts);
  }

  get violations(): readonly string[] {
    return this.account.violations;
  }

  /** Everything was drained, and Await was asked for each item. */
  audit(): void {
    auditItems(this.items, this.account);
  }
}
