import type { Scheduler } from '../session/flow.js';
import type { UndeliverableTold } from './ask-reader.js';
import { BEAT } from './limits.js';

/** A notice is tried again for 10 s: as long as a gateway keeps it for a partition without a home. */
const MOST_TRIES = 20;
/** Turns of all notices of a link. Others end with their lease or their session. */
const MOST_TURNS = 10_000;

interface LateNotice {
  readonly told: UndeliverableTold;
  tries: number;
}

/** Notices of turns that nobody learnt of, while their partition is not open here. The link may be over by then. */
export class LateNotices {
  #kept: LateNotice[] = [];
  #turns = 0;

  /** @param tell returns false if the partition is not open */
  constructor(
    private readonly scheduler: Scheduler,
    private readonly tell: (told: UndeliverableTold) => boolean,
  ) {}

  take(told: UndeliverableTold): void {
    if (!this.tell(told)) this.#add(told);
  }

  #add(told: UndeliverableTold): void {
    if (this.#turns + told.turns.length > MOST_TURNS) return;
    this.#turns += told.turns.length;
    if (this.#kept.push({ told, tries: 0 }) === 1) this.#lookLater();
  }

  #lookLater(): void {
    this.scheduler.after(BEAT, () => {
      this.#kept = this.#kept.filter((notice) => this.#isStillLate(notice));
      if (this.#kept.length > 0) this.#lookLater();
    });
  }

  #isStillLate(notice: LateNotice): boolean {
    notice.tries += 1;
    if (!this.tell(notice.told) && notice.tries < MOST_TRIES) return true;
    this.#turns -= notice.told.turns.length;
    return false;
  }
}
