/** The console: a program in the browser that the sidecar serves. */
import { render } from 'preact';
import { useEffect } from 'preact/hooks';
import { address, route } from './live/place.js';
import { needsLogin, returns } from './live/tab.js';
import { Cluster } from './pages/cluster.js';
import { DeadLetters } from './pages/dead-letters.js';
import { Events } from './pages/events.js';
import { ItemPage } from './pages/item.js';
import { KeyPage } from './pages/key.js';
import { Leaders } from './pages/leaders.js';
import { Login, leave, readSession } from './pages/login.js';
import { Overview } from './pages/overview.js';
import { QueuePage } from './pages/queue.js';
import { Server } from './pages/server.js';
import { Workers } from './pages/workers.js';
import { Fence } from './parts/part.js';
import { Heading, Shell } from './parts/shell.js';
import type { Page } from './words/route.js';

type Show = (props: { readonly words: URLSearchParams }) => preact.VNode;

const PAGES: Readonly<Partial<Record<Page, Show>>> = {
  overview: Overview,
  queue: QueuePage,
  key: KeyPage,
  item: ItemPage,
  workers: Workers,
  'dead-letters': DeadLetters,
  leaders: Leaders,
  cluster: Cluster,
  events: Events,
  server: Server,
};

function Console() {
  // Whoever came back may be another version, or ask for a login.
  useEffect(() => void readSession(), [returns.value]);
  const { page, words } = route.value;
  const Show = page === undefined ? undefined : PAGES[page];
  return (
    <Shell leave={leave}>
      {needsLogin.value ? (
        <Login />
      ) : (
        <Fence key={address.value}>
          {Show === undefined ? (
            <>
              <Heading title="No such page">There is no such page</Heading>
              <p>
                <a href="/">To the overview</a>
              </p>
            </>
          ) : (
            <Show key={address.value} words={words} />
          )}
        </Fence>
      )}
    </Shell>
  );
}

const place = document.getElementById('console');
if (place !== null) render(<Console />, place);
