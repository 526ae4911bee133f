/** What happens to keys, in words, and where it stands on a line of time. */
import type { EventKind } from '../gen/keyturn/v1/admin.js';

interface EventWords {
  readonly word: string;
  readonly row: 'arrivals' | 'turns' | 'ends' | 'trouble';
}

const WORDS: Readonly<Record<EventKind, EventWords>> = {
  EVENT_KIND_UNSPECIFIED: { word: 'not known', row: 'trouble' },
  EVENT_KIND_ARRIVAL: { word: 'arrived', row: 'arrivals' },
  EVENT_KIND_TURN: { word: 'turn began', row: 'turns' },
  EVENT_KIND_SETTLEMENT: { word: 'turn settled', row: 'ends' },
  EVENT_KIND_EXPIRY: { word: 'lease ended', row: 'trouble' },
  EVENT_KIND_EVICTION: { word: 'holder evicted', row: 'trouble' },
  EVENT_KIND_DEAD_LETTER: { word: 'became a dead letter', row: 'trouble' },
  EVENT_KIND_LEAVING: { word: 'left the line', row: 'ends' },
  EVENT_KIND_PARK: { word: 'parked', row: 'trouble' },
  EVENT_KIND_RESUME: { word: 'goes on', row: 'turns' },
  EVENT_KIND_REDRIVE: { word: 'redriven', row: 'arrivals' },
  EVENT_KIND_DISCARD: { word: 'discarded', row: 'ends' },
  EVENT_KIND_RETRY_NOW: { word: 'tried at once', row: 'turns' },
};

export function eventWords(kind: EventKind | undefined): EventWords {
  return WORDS[kind ?? 'EVENT_KIND_UNSPECIFIED'] ?? WORDS.EVENT_KIND_UNSPECIFIED;
}
