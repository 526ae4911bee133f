/** Looks for queues that are stuck, a page at a time, and now and then again: the sidecar picks them out, and sorts nothing for it. */
import { effect, signal } from '@preact/signals';
import { type Answer, ask, messageOf } from '../wire/client.js';
import { LONG_WAIT_MS, type Trouble, troubleOf } from '../words/trouble.js';
import { answered, failed, isSeen, returns } from './tab.js';

/** One of them costs the sidecar a ms or two. */
const PAGE = 200;
const AGAIN_MS = 20_000;
const AFTER_FAILURE_MS = 5_000;
/** Few queues are no effort. */
const FEW = 1_000;
const AGAIN_FEW_MS = 5_000;
/** After the first {@link FEW}: where everything is stuck, to find out must not be a burden too. */
const BETWEEN_PAGES_MS = 300;
/** The worst of them. */
const KEPT = 50;

export const stuck = signal<readonly Trouble[]>([]);
/** Those with the most dead letters, however many are in worse trouble. */
export const withDeadLetters = signal<readonly Trouble[]>([]);
/** Queues that were found so far; `isAll`: no more are to be found. */
export const looked = signal({ queues: 0, isAll: false });
export const lookFailed = signal<string | undefined>(undefined);
type Startup = Answer<'ListQueues'>['startupHoldUntil'];
export const startupHold = signal<Startup>(undefined);
const wanted = signal(0);

/** While the start page or the search box wants it. @returns what ends it */
export function lookForStuck(): () => void {
  wanted.value = wanted.peek() + 1;
  return () => {
    wanted.value = wanted.peek() - 1;
  };
}

effect(() => {
  void returns.value;
  if (!isSeen.value || wanted.value === 0) return;
  const ending = new AbortController();
  void look(ending.signal);
  return () => ending.abort();
});

async function look(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    let pause = AFTER_FAILURE_MS;
    try {
      pause = (await lookOnce(signal)) > FEW ? AGAIN_MS : AGAIN_FEW_MS;
      lookFailed.value = undefined;
      answered();
    } catch (error) {
      if (signal.aborted) return;
      failed(error);
      lookFailed.value = messageOf(error);
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

async function lookOnce(signal: AbortSignal): Promise<number> {
  let found: readonly Trouble[] = [];
  let dead: readonly Trouble[] = [];
  let pageToken = '';
  let queues = 0;
  const isFirst = !looked.peek().isAll;
  do {
    const page = await ask(
      'ListQueues',
      { pageSize: PAGE, pageToken, stuckFor: `${LONG_WAIT_MS / 1_000}s`, withoutPolicy: true },
      signal,
    );
    const more = (page.queues ?? []).flatMap((queue) => troubleOf(queue) ?? []);
    found = most([...found, ...more], ({ weight }) => weight);
    dead = most([...dead, ...more.filter((one) => one.dead > 0)], (one) => one.dead);
    queues += page.queues?.length ?? 0;
    pageToken = page.nextPageToken ?? '';
    startupHold.value = page.startupHoldUntil;
    // What was found before stays while it is looked for again; the first time every page helps.
    if (isFirst || pageToken === '') {
      stuck.value = found;
      withDeadLetters.value = dead;
    }
    looked.value = {
      queues: isFirst ? queues : Math.max(queues, looked.peek().queues),
      isAll: pageToken === '' || !isFirst,
    };
    if (pageToken !== '' && queues >= FEW) await new Promise((resolve) => setTimeout(resolve, BETWEEN_PAGES_MS));
  } while (pageToken !== '');
  looked.value = { queues, isAll: true };
  return queues;
}

function most(troubles: readonly Trouble[], weightOf: (trouble: Trouble) => number): readonly Trouble[] {
  return troubles.toSorted((one, other) => weightOf(other) - weightOf(one)).slice(0, KEPT);
}
