/** What became of one message: where it stands, why it waits, what it carries when that is asked for. */
import { useSignal } from '@preact/signals';
import { useAsked } from '../live/asked.js';
import { Missing, Part, Told } from '../parts/part.js';
import { Payload } from '../parts/payload.js';
import { Heading } from '../parts/shell.js';
import { Age, KeyLink, QueueLink, Text, Until } from '../parts/small.js';
import { nameOf, WaitsFor } from '../parts/waits-for.js';
import { type Answer, ask } from '../wire/client.js';
import { sizeOf } from '../words/payload.js';
import { counted } from '../words/times.js';

const EVERY_MS = 2_000;

type Report = Answer<'GetItem'>;

const STATES: Readonly<Record<string, string>> = {
  ITEM_STATE_WAITING: 'It waits in the line of its key.',
  ITEM_STATE_IN_FLIGHT: 'A worker has it.',
  ITEM_STATE_DONE: 'It is done.',
  ITEM_STATE_DEAD: 'It is a dead letter.',
  ITEM_STATE_SUPERSEDED: 'A newer one took its place.',
  ITEM_STATE_DISCARDED: 'Somebody discarded it.',
};
const UNKNOWN = 'Nothing is known of this id: there was none, or it ended so long ago that it is forgotten.';

export function ItemPage({ words }: { readonly words: URLSearchParams }) {
  const queue = words.get('queue') ?? '';
  const itemId = words.get('id') ?? '';
  const withPayload = useSignal(false);
  const asked = useAsked([queue, itemId, withPayload.value], EVERY_MS, (signal) =>
    ask('GetItem', { queue, itemId, withPayload: withPayload.value }, signal),
  );
  return (
    <>
      <Heading title={`Item ${itemId}`}>
        Item <Text of={itemId} />{' '}
        <small>
          in <QueueLink queue={queue} />
        </small>
      </Heading>
      <Told asked={asked}>
        {(report) => (
          <>
            <Standing report={report} queue={queue} itemId={itemId} />
            <Carried
              report={report}
              isShown={withPayload.value}
              show={() => {
                withPayload.value = true;
              }}
            />
          </>
        )}
      </Told>
    </>
  );
}

interface StandingProps {
  readonly report: Report;
  readonly queue: string;
  readonly itemId: string;
}

function Standing({ report, queue, itemId }: StandingProps) {
  const { state = '', key, item, attempts = 0, lastError, notBefore, after = [], afterCount = 0, why } = report;
  return (
    <section class="why" aria-label="How it stands">
      <p class="why-sentence" role="status">
        {STATES[state] ?? UNKNOWN}
        {why !== undefined && (
          <>
            {' '}
            <Text of={why} />
          </>
        )}
      </p>
      <dl class="facts">
        {item !== undefined && <Fact name="Key" of={<KeyLink queue={queue} keyName={key} />} />}
        {item?.submittedAt !== undefined && <Fact name="Submitted" of={<Age since={item.submittedAt} />} />}
        {notBefore !== undefined && <Fact name="Not before" of={<Until moment={notBefore} />} />}
        {report.consumerId !== undefined && <Fact name="Held by" of={<Text of={report.consumerId} />} />}
        {report.diedAt !== undefined && <Fact name="Died" of={<Age since={report.diedAt} />} />}
        {attempts > 0 && <Fact name="Tried" of={counted(attempts, 'time')} />}
        {report.traceId !== undefined && <Fact name="Trace" of={<Text of={report.traceId} />} />}
      </dl>
      {lastError !== undefined && (
        <p>
          What went wrong last: <Text of={lastError} />
        </p>
      )}
      {afterCount > 0 && <WaitsFor of={after} count={afterCount} above={[nameOf({ queue, itemId })]} />}
      <Missing of={report.unavailable} />
    </section>
  );
}

function Fact({ name, of }: { readonly name: string; readonly of: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{of}</dd>
    </div>
  );
}

interface CarriedProps {
  readonly report: Report;
  readonly isShown: boolean;
  readonly show: () => void;
}

/** Hidden until asked for: it needs a right of its own, and who looked stands in the audit. */
function Carried({ report, isShown, show }: CarriedProps) {
  const { item, payloadBytes = '0', result } = report;
  if (item === undefined && result === undefined && report.state !== 'ITEM_STATE_DONE') return null;
  if (!isShown)
    return (
      <Part title="What it carries">
        <p>
          {item === undefined
            ? 'Its result, if there is one, is not shown.'
            : `${sizeOf(Number(payloadBytes))}, not shown.`}{' '}
          <button type="button" onClick={show}>
            Show it
          </button>
        </p>
      </Part>
    );
  return (
    <Part title="What it carries">
      {item !== undefined && <Payload of={item.payload} name="payload" />}
      {Object.entries(item?.headers ?? {}).map(([name, value]) => (
        <p key={name}>
          <Text of={name} />: <Text of={value} />
        </p>
      ))}
      {result !== undefined && <Payload of={result} name="result" />}
    </Part>
  );
}
