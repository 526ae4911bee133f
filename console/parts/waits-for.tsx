/** What an item waits for, and what that waits for: a tree, asked for branch by branch as somebody opens it. */
import { useSignal } from '@preact/signals';
import type { ItemRef } from '../gen/keyturn/v1/coordinator.js';
import { useAsked } from '../live/asked.js';
import { ask, type Json } from '../wire/client.js';
import { hrefOf } from '../words/route.js';
import { counted } from '../words/times.js';
import { Told } from './part.js';
import { Text } from './small.js';

const EVERY_MS = 5_000;
/** Deeper ones are a click away: their own page begins anew. */
const DEEPEST = 8;

type Ref = Json<ItemRef>;

interface WaitsForProps {
  readonly of: readonly Ref[];
  /** How many there are, more than are told perhaps. */
  readonly count: number;
  /** The items above, by queue and id. */
  readonly above: readonly string[];
}

const STATES: Readonly<Record<string, string>> = {
  ITEM_STATE_WAITING: 'waits',
  ITEM_STATE_IN_FLIGHT: 'a worker has it',
  ITEM_STATE_DONE: 'done',
  ITEM_STATE_DEAD: 'a dead letter',
  ITEM_STATE_SUPERSEDED: 'a newer one took its place',
  ITEM_STATE_DISCARDED: 'discarded',
};

export function WaitsFor({ of, count, above }: WaitsForProps) {
  return (
    <>
      <p>It waits for {counted(count, 'other item')}:</p>
      <ul class="tree">
        {of.map((ref) => (
          <li key={nameOf(ref)}>
            <Branch of={ref} above={above} />
          </li>
        ))}
      </ul>
      {count > of.length && <p class="faint">And {count - of.length} more.</p>}
    </>
  );
}

/** Neither part has a line feed that the other could be mistaken for: a queue's name has none. */
export function nameOf({ queue = '', itemId = '' }: Ref): string {
  return `${queue}\n${itemId}`;
}

function Branch({ of, above }: { readonly of: Ref; readonly above: readonly string[] }) {
  const { queue = '', itemId = '' } = of;
  const asked = useAsked([queue, itemId], EVERY_MS, (signal) => ask('GetItem', { queue, itemId }, signal));
  const isOpen = useSignal(false);
  const isAbove = above.includes(nameOf(of));
  return (
    <>
      <a href={hrefOf('item', { queue, id: itemId })}>
        <Text of={itemId} />
      </a>{' '}
      of <Text of={queue} />
      <Told asked={asked}>
        {({ state = '', why, after = [], afterCount = 0 }) => (
          <>
            {': '}
            {STATES[state] ?? 'nothing is known of it'}
            {why !== undefined && (
              <>
                {', '}
                <Text of={why} />
              </>
            )}
            {isAbove && ' (it stands above already)'}
            {afterCount > 0 && !isAbove && above.length < DEEPEST && (
              <details
                open={isOpen.value}
                onToggle={(event) => {
                  isOpen.value = event.currentTarget.open;
                }}
              >
                <summary>waits for {counted(afterCount, 'other item')}</summary>
                {isOpen.value && <WaitsFor of={after} count={afterCount} above={[...above, nameOf(of)]} />}
              </details>
            )}
          </>
        )}
      </Told>
    </>
  );
}
