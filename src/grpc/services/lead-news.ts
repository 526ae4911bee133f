import type { LeadNews, LeadResponse } from '../gen/keyturn/v1/leader.js';

/** What of a stream of gRPC it needs. */
interface NewsCall {
  write(message: LeadResponse): boolean;
  once(event: 'drain', listener: () => void): unknown;
}

/** News of one message: a state of 64 KiB may be in each. */
const NEWS_AT_ONCE = 500;
const STATES_AT_ONCE = 16;

/**
 * What a stream is told: gathered until what runs has ended, so that what became ready together travels together, and no faster
 * than its client reads.
 */
export class OutgoingNews {
  #news: LeadNews[] = [];
  #isClogged = false;
  #isScheduled = false;

  constructor(
    private readonly call: NewsCall,
    private readonly flows: (flows: boolean) => void,
  ) {}

  push(news: LeadNews): void {
    this.#news.push(news);
    if (this.#isScheduled || this.#isClogged) return;
    this.#isScheduled = true;
    process.nextTick(() => {
      this.#isScheduled = false;
      this.flush();
    });
  }

  flush(): void {
    while (this.#news.length > 0 && !this.#isClogged) {
      if (this.call.write({ news: this.#take() })) continue;
      this.#isClogged = true;
      this.flows(false);
      this.call.once('drain', () => {
        this.#isClogged = false;
        this.flows(true);
        this.flush();
      });
    }
  }

  #take(): LeadNews[] {
    let states = 0;
    let count = 0;
    for (const { news } of this.#news) {
      if (news?.$case === 'inaugurate') states += 1;
      if (count === NEWS_AT_ONCE || states > STATES_AT_ONCE) break;
      count += 1;
    }
    return this.#news.splice(0, count);
  }
}
