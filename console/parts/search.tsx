/** One box for all: a queue, a key, an item. `/` leads to it. */
import { useSignal } from '@preact/signals';
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks';
import { go, route } from '../live/place.js';
import { stuck } from '../live/stuck.js';
import { announce, failed } from '../live/tab.js';
import { ask, CallError } from '../wire/client.js';
import { plainName } from '../words/names.js';
import { hrefOf } from '../words/route.js';
import { type Sought, soughtBy } from '../words/search.js';
import { stateWords } from '../words/states.js';
import { counted } from '../words/times.js';
import { Text } from './small.js';

interface Hit {
  readonly what: string;
  readonly name: string;
  readonly more: string;
  readonly href: string;
}

const TYPING_MS = 150;
const MOST_QUEUES = 8;
/** Queues that are stuck are those that somebody looks for a key in. */
const STUCK_ASKED = 8;

export function Search() {
  const text = useSignal('');
  const hits = useSignal<readonly Hit[]>([]);
  const chosen = useSignal(0);
  /** What `hits` are of. */
  const foundFor = useSignal('');
  /** Enter came before they were there, as after a paste: the first is opened as soon as it is found. */
  const isEntered = useSignal(false);
  const isOpen = useSignal(false);
  const box = useRef<HTMLInputElement>(null);
  const id = useId();
  useSlash(box);

  useEffect(() => {
    const sought = soughtBy(text.value, currentQueue());
    if (sought.part === '') {
      hits.value = [];
      return;
    }
    const ending = new AbortController();
    const timer = setTimeout(() => {
      find(sought, text.value.trim(), ending.signal).then(
        (found) => {
          if (ending.signal.aborted) return;
          hits.value = found;
          chosen.value = 0;
          foundFor.value = text.value;
          if (isEntered.value && found.length > 0) return open(found[0]);
          announce(
            found.length === 0
              ? 'Nothing found'
              : `${counted(found.length, 'result')}, the first: ${plainName(found[0]?.name ?? '')}`,
          );
        },
        (error: unknown) => {
          if (ending.signal.aborted) return;
          isEntered.value = false;
          failed(error);
        },
      );
    }, TYPING_MS);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [text.value]);

  const open = (hit: Hit | undefined): void => {
    if (hit === undefined) return;
    isOpen.value = false;
    isEntered.value = false;
    text.value = '';
    go(hit.href);
  };
  const isShown = isOpen.value && text.value.trim() !== '';
  return (
    <search class="search">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (foundFor.value === text.value) open(hits.value[chosen.value]);
          else isEntered.value = true;
        }}
      >
        <label class="unseen" for={`${id}-box`}>
          Search: queue, key, item
        </label>
        <input
          ref={box}
          id={`${id}-box`}
          type="text"
          role="combobox"
          placeholder="queue, or queue and key, item   ( / )"
          autoComplete="off"
          spellcheck={false}
          maxLength={1_300}
          aria-expanded={isShown}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={isShown && hits.value.length > 0 ? `${id}-${chosen.value}` : undefined}
          value={text.value}
          onInput={(event) => {
            text.value = event.currentTarget.value;
            isOpen.value = true;
            isEntered.value = false;
          }}
          onFocus={() => {
            isOpen.value = true;
          }}
          onBlur={() => {
            isOpen.value = false;
          }}
          onKeyDown={(event) => {
            const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
            if (event.key === 'Escape') {
              isOpen.value = false;
              text.value = '';
            } else if (move !== undefined && hits.value.length > 0) {
              event.preventDefault();
              chosen.value = (chosen.value + move + hits.value.length) % hits.value.length;
            }
          }}
        />
        <div class="hits" id={`${id}-list`} role="listbox" aria-label="Found" hidden={!isShown}>
          {isShown && hits.value.length === 0 && (
            <div class="faint" role="option" aria-selected="false" aria-disabled="true">
              Nothing yet. A key or an item is found with its queue before it: orders customer-7
            </div>
          )}
          {hits.value.map((hit, at) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the box has the keys, as a combobox does
            <div
              key={hit.href}
              id={`${id}-${at}`}
              role="option"
              aria-selected={at === chosen.value}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => open(hit)}
            >
              <span class="faint">{hit.what}</span> <Text of={hit.name} /> <span class="faint">{hit.more}</span>
            </div>
          ))}
        </div>
      </form>
    </search>
  );
}

function useSlash(box: { readonly current: HTMLInputElement | null }): void {
  // As soon as the page is there: somebody who knows it types at once.
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const { target } = event;
      const isTyping = target instanceof Element && target.closest('input, textarea, select, dialog') !== null;
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      box.current?.focus();
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, [box]);
}

function currentQueue(): string | undefined {
  const { page, words } = route.peek();
  return (page === 'queue' ? words.get('name') : words.get('queue')) ?? undefined;
}

async function find({ part, pairs }: Sought, text: string, signal: AbortSignal): Promise<readonly Hit[]> {
  const inStuck = /\s/u.test(text) ? [] : stuck.peek().slice(0, STUCK_ASKED);
  const elsewhere = inStuck.flatMap(({ queue }) =>
    pairs.some((pair) => pair.queue === queue) ? [] : [{ queue, rest: text }],
  );
  const [listed, named, guessed] = await Promise.all([
    ask('ListQueues', { nameContains: part, pageSize: MOST_QUEUES }, signal),
    Promise.all(pairs.map(({ queue, rest }) => either(queue, rest, signal))),
    Promise.all(elsewhere.map(({ queue, rest }) => inQueue(queue, rest, false, signal))),
  ]);
  const queues = (listed.queues ?? []).map(({ name = '', waiting = 0 }) => ({
    what: 'Queue',
    name,
    more: `${waiting} waiting`,
    href: hrefOf('queue', { name }),
  }));
  // Of two words the first is a part of a name often: the other one is tried in each queue that has it.
  const rest = /^\S+\s+(\S.*)$/su.exec(text)?.[1];
  const others = rest === undefined ? [] : queues.filter(({ name }) => !pairs.some(({ queue }) => queue === name));
  const more = await Promise.all(others.map(({ name }) => inQueue(name, rest ?? '', false, signal)));
  const found = [...named.flat(), ...guessed.flat(), ...more.flat()];
  const isBusy = (hit: Hit): boolean => hit.more !== NOTHING;
  const exact = queues.filter(({ name }) => rest === undefined && name === part);
  const idle = found.filter((hit) => !isBusy(hit));
  const keys = rest === undefined ? found.filter(isBusy) : [...found.filter(isBusy), ...idle];
  const last = rest === undefined ? idle : [];
  return [...exact, ...keys, ...queues.filter((hit) => !exact.includes(hit)), ...last];
}

const NOTHING = 'nothing to do there';

/** What was typed behind a queue is a key or the id of an item; an item that there is comes first, hardly a key is called so. */
async function either(queue: string, rest: string, signal: AbortSignal): Promise<readonly Hit[]> {
  const [items, keys] = await Promise.all([itemOf(queue, rest, signal), inQueue(queue, rest, true, signal)]);
  return [...items, ...keys];
}

async function itemOf(queue: string, itemId: string, signal: AbortSignal): Promise<readonly Hit[]> {
  try {
    const { state = 'ITEM_STATE_UNKNOWN' } = await ask('GetItem', { queue, itemId, withPayload: false }, signal);
    if (state === 'ITEM_STATE_UNKNOWN') return [];
    const more = `in ${queue} · ${state.slice('ITEM_STATE_'.length).toLowerCase().replace('_', ' ')}`;
    return [{ what: 'Item', name: itemId, more, href: hrefOf('item', { queue, id: itemId }) }];
  } catch (error) {
    if (error instanceof CallError && ['not_found', 'permission_denied', 'invalid_argument'].includes(error.code))
      return [];
    throw error;
  }
}

/** A key by its exact name, or a place in a line by its item. @param always show it though it has nothing to do */
async function inQueue(queue: string, rest: string, always: boolean, signal: AbortSignal): Promise<readonly Hit[]> {
  try {
    const told = await ask('ExplainKey', { queue, key: rest }, signal);
    const { word, state } = stateWords(told.state);
    const isIdle = state === 'LANE_STATE_INIT' || state === 'LANE_STATE_UNSPECIFIED';
    if (isIdle && !always) return [];
    const more = `in ${queue} · ${isIdle ? NOTHING : word}`;
    return [{ what: 'Key', name: rest, more: isIdle ? NOTHING : more, href: hrefOf('key', { queue, key: rest }) }];
  } catch (error) {
    // No such queue, or not for the eyes of who asks: nothing is found there. Whatever else is wrong is said.
    if (error instanceof CallError && ['not_found', 'permission_denied', 'invalid_argument'].includes(error.code))
      return [];
    throw error;
  }
}
