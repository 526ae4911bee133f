/** The one stream of events of the tab: there while somebody on the page wants events and the tab is seen. */
import { effect, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Event } from '../gen/keyturn/v1/admin.js';
import type { Json } from '../wire/client.js';
import { watchEvents } from '../wire/stream.js';
import { answered, failed, isSeen, returns } from './tab.js';

export type Told = Json<Event>;

interface Interest {
  /** Unset: all queues. */
  readonly queue?: string;
  readonly key?: string;
  take(events: readonly Told[], missed: number): void;
}

type StreamState = 'closed' | 'opening' | 'open' | 'broken';
export const streamState = signal<StreamState>('closed');

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
const interests = signal<readonly Interest[]>([]);

/** What all want together: the stream brings no more than that, as far as a filter can say it. */
function combined(wanted: readonly Interest[]): { readonly queue?: string; readonly key?: string } {
  const [first, ...others] = wanted;
  if (first?.queue === undefined || others.some(({ queue }) => queue !== first.queue)) return {};
  if (first.key === undefined || others.some(({ key }) => key !== first.key)) return { queue: first.queue };
  return { queue: first.queue, key: first.key };
}

function isFor(event: Told, { queue, key }: Interest): boolean {
  return (queue === undefined || event.queue === queue) && (key === undefined || (event.key ?? '') === key);
}

effect(() => {
  const wanted = interests.value;
  void returns.value;
  if (!isSeen.value || wanted.length === 0) {
    streamState.value = 'closed';
    return;
  }
  const ending = new AbortController();
  void follow(wanted, ending.signal);
  return () => ending.abort();
});

/** Opens it again after it broke, later each time. */
async function follow(wanted: readonly Interest[], signal: AbortSignal): Promise<void> {
  let pause = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    streamState.value = 'opening';
    try {
      await watchEvents(
        combined(wanted),
        signal,
        () => {
          pause = FIRST_PAUSE_MS;
          streamState.value = 'open';
          answered();
        },
        ({ events = [], missed = '0' }) => {
          for (const one of wanted) {
            const own = events.filter((event) => isFor(event, one));
            if (own.length > 0 || missed !== '0') one.take(own, Number(missed));
          }
        },
      );
    } catch (error) {
      if (signal.aborted) return;
      failed(error);
    }
    if (signal.aborted) return;
    streamState.value = 'broken';
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(LONGEST_PAUSE_MS, pause * 2);
  }
}

/** @param words what the interest depends on */
export function useEvents(words: readonly unknown[], interest: Interest | undefined): void {
  useEffect(() => {
    if (interest === undefined) return;
    interests.value = [...interests.peek(), interest];
    return () => {
      interests.value = interests.peek().filter((one) => one !== interest);
    };
  }, words);
}
