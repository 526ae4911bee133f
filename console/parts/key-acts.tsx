/** What can be done about a key. */
import { type Answer, ask } from '../wire/client.js';
import { plainName } from '../words/names.js';
import { stateWords } from '../words/states.js';
import { counted } from '../words/times.js';
import { Act } from './act.js';
import { Text } from './small.js';

interface KeyActsProps {
  readonly queue: string;
  readonly keyName: string;
  readonly told: Answer<'ExplainKey'>;
  readonly done: () => void;
}

export function KeyActs({ queue, keyName, told, done }: KeyActsProps) {
  const { holder, state, waitingItems = 0 } = told;
  const name = plainName(keyName);
  return (
    <div class="buttons">
      {state === 'LANE_STATE_PARK' && (
        <Act
          key="resume"
          name="Resume key"
          isFirst
          says={() => (
            <p>
              Key <Text of={keyName} /> goes on: {counted(waitingItems, 'item')} in its line can be worked on again. The
              dead letter because of which it stopped stays one.
            </p>
          )}
          does={async ({ reason }) => {
            const did = await ask('ResumeKey', { queue, key: keyName, reason });
            return did.resumed === true
              ? `Key ${name} goes on; it is ${stateWords(did.state).word} now.`
              : `Key ${name} was not parked any more.`;
          }}
          done={done}
        />
      )}
      {state === 'LANE_STATE_DELAY' && (
        <Act
          key="retry"
          name="Retry now"
          isFirst
          says={() => (
            <p>
              What keeps the head of the line of <Text of={keyName} /> back by time ends now: a back-off, a delay, or
              the min_interval of the key. Attempts are not counted anew. A wait for other items is not ended by this.
            </p>
          )}
          does={async ({ reason }) => retried(name, await ask('RetryNow', { queue, key: keyName, reason }))}
          done={done}
        />
      )}
      {holder !== undefined && (
        <Act
          key="evict"
          name="Evict holder"
          isFinal
          says={() => (
            <p>
              Ends the turn that <Text of={holder.consumerId} /> has of <Text of={keyName} /> (token{' '}
              {holder.token ?? '0'}). {counted(holder.items ?? 0, 'item')} in it go back without counting an attempt,
              and the next in line gets the key. The worker may still be at it: what it sends with its token is refused
              from then on, but what it does elsewhere is not stopped.
            </p>
          )}
          does={async ({ reason }) => {
            const did = await ask('EvictHolder', { queue, key: keyName, reason });
            if (did.evicted !== true) return `Nobody held key ${name} any more.`;
            return `${plainName(did.consumerId ?? '')} was evicted (token ${did.token ?? '0'}); ${counted(did.itemsReturned ?? 0, 'item')} went back. Key ${name} is ${stateWords(did.state).word} now.`;
          }}
          done={done}
        />
      )}
    </div>
  );
}

function retried(name: string, did: Answer<'RetryNow'>): string {
  const still = did.why === undefined || did.why === '' ? '' : ` It still waits: ${did.why}.`;
  if (did.changed !== true) return `Nothing kept ${name} back by time any more.${still}`;
  return `${(did.ended ?? []).join(' and ')} ended for ${name}; it is ${stateWords(did.state).word} now.${still}`;
}
