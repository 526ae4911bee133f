/** What stands around every page: where one can go, the search box, and whether the sidecar is there. */
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { streamState } from '../live/events.js';
import { route } from '../live/place.js';
import { announcement, awaySince, now } from '../live/tab.js';
import { offset } from '../wire/clock.js';
import { plainName } from '../words/names.js';
import { hrefOf, type Page } from '../words/route.js';
import { ageOf, lengthOf } from '../words/times.js';
import { Search } from './search.js';

/** Pages that are reached from everywhere; the others need a name. */
const PLACES: readonly (readonly [Page, string])[] = [
  ['overview', 'Overview'],
  ['dead-letters', 'Dead letters'],
  ['workers', 'Workers'],
  ['leaders', 'Leaders'],
  ['cluster', 'Cluster'],
  ['events', 'Events'],
  ['server', 'Server'],
];

/** More than that somebody wants to know of: certificates and logs have the other time. */
const CLOCK_OFF_MS = 5_000;

interface Who {
  /** Empty: nobody is asked who they are. */
  readonly principal: string;
  readonly canLeave: boolean;
  readonly version: string;
  /** The page was loaded from another version. */
  readonly isOld: boolean;
}

export const whoAmI = signal<Who | undefined>(undefined);

export function Shell({ children, leave }: { readonly children: ComponentChildren; readonly leave: () => void }) {
  const who = whoAmI.value;
  return (
    <>
      <a class="skip" href="#content">
        Skip to the page
      </a>
      <header class="top">
        <a class="brand" href="/">
          Keyturn
        </a>
        <Search />
        <nav aria-label="Pages">
          <ul>
            {PLACES.map(([page, name]) => (
              <li key={page}>
                <a href={hrefOf(page)} aria-current={route.value.page === page ? 'page' : undefined}>
                  {name}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        {who?.canLeave === true && (
          <button type="button" class="link" onClick={leave}>
            Log out {plainName(who.principal)}
          </button>
        )}
      </header>
      <Away />
      {who?.isOld === true && (
        <p class="note" role="status">
          The sidecar is of another version now.{' '}
          <button type="button" onClick={() => location.reload()}>
            Load the page anew
          </button>
        </p>
      )}
      <main id="content" tabIndex={-1}>
        {children}
      </main>
      <footer class="foot faint">
        <LiveState />
        {Math.abs(offset()) > CLOCK_OFF_MS && now.value > 0 && (
          <span>
            {' '}
            · The clock of this browser is {lengthOf(Math.abs(offset()))} {offset() > 0 ? 'behind' : 'ahead'}; ages are
            by that of the sidecar.
          </span>
        )}
      </footer>
      <div class="unseen" role="status" aria-live="polite">
        {announcement.value}
      </div>
    </>
  );
}

function Away() {
  const since = awaySince.value;
  return (
    <div role="alert">
      {since !== undefined && (
        <p class="away">
          The sidecar is away since {ageOf(now.value - offset() - since)}. What is shown is from before; it is asked
          again by itself.
        </p>
      )}
    </div>
  );
}

const LIVE: Readonly<Record<typeof streamState.value, string>> = {
  closed: 'Looks again by itself',
  opening: 'Opening the stream of events',
  open: 'Live',
  broken: 'The stream of events broke off; it is opened again',
};

function LiveState() {
  return <span data-stream={streamState.value}>{LIVE[streamState.value]}</span>;
}

/** The heading of a page. It takes the focus, so that whoever listens hears where they are. */
export function Heading({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Keyturn`;
    if (isFirst) isFirst = false;
    else heading.current?.focus();
  }, [title]);
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children}
    </h1>
  );
}

/** When the page was just loaded the browser decides where the focus is. */
let isFirst = true;
