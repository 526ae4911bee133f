/** Small things that stand everywhere: a name, an age, a state. */
import { now } from '../live/tab.js';
import { piecesOf, plainName } from '../words/names.js';
import { hrefOf } from '../words/route.js';
import { stateWords } from '../words/states.js';
import { ageOf, clockTime, momentOf } from '../words/times.js';

/** Of people or programs: its direction of writing ends with it, and what cannot be seen is marked. */
export function Name({ of }: { readonly of: string | undefined }) {
  if (of === undefined || of === '') return <span class="faint">(no key)</span>;
  return <Text of={of} />;
}

/** Any text that is not of the page itself. */
export function Text({ of = '' }: { readonly of?: string | undefined }) {
  return (
    <bdi class="name">{piecesOf(of).map(({ text, isMark }) => (isMark ? <span class="mark">{text}</span> : text))}</bdi>
  );
}

export function QueueLink({ queue }: { readonly queue: string }) {
  return (
    <a href={hrefOf('queue', { name: queue })}>
      <Text of={queue} />
    </a>
  );
}

export function KeyLink({ queue, keyName }: { readonly queue: string; readonly keyName: string | undefined }) {
  if (keyName === undefined || keyName === '') return <Name of="" />;
  return (
    <a href={hrefOf('key', { queue, key: keyName })} title={`Why does ${plainName(keyName)} not move?`}>
      <Name of={keyName} />
    </a>
  );
}

/** How long ago, by the clock of the sidecar; the moment itself for those who point at it. */
export function Age({ since }: { readonly since: string | undefined }) {
  const moment = momentOf(since);
  if (moment === undefined) return <span class="faint">–</span>;
  return (
    <time dateTime={since} title={clockTime(moment, now.value)}>
      {ageOf(now.value - moment)}
    </time>
  );
}

/** A moment that is to come, or that was. */
export function Until({ moment }: { readonly moment: string | undefined }) {
  const at = momentOf(moment);
  if (at === undefined) return <span class="faint">not known</span>;
  const left = at - now.value;
  return (
    <time dateTime={moment} title={new Date(at).toLocaleString()}>
      {clockTime(at, now.value)} ({left > 0 ? `in ${ageOf(left)}` : `${ageOf(-left)} ago`})
    </time>
  );
}

export function State({ of }: { readonly of: string | undefined }) {
  const { word, sign, meaning } = stateWords(of);
  return (
    <span class={`state state-${word.toLowerCase()}`} title={meaning}>
      <span aria-hidden="true">{sign}</span> {word}
    </span>
  );
}

export function Count({ of = 0 }: { readonly of?: number | undefined }) {
  return <span class={of === 0 ? 'faint' : ''}>{of.toLocaleString('en')}</span>;
}
