/** Addresses of pages. Names stand behind the question mark: a key called `..` would not survive in a path. */

const PAGES = [
  'overview',
  'queue',
  'key',
  'item',
  'dead-letters',
  'workers',
  'leaders',
  'cluster',
  'events',
  'server',
] as const;
export type Page = (typeof PAGES)[number];

export interface Route {
  /** Undefined: there is no such page. */
  readonly page: Page | undefined;
  readonly words: URLSearchParams;
}

export function routeOf(url: string): Route {
  const { pathname, searchParams } = new URL(url, 'http://console');
  const name = pathname === '/' ? 'overview' : pathname.slice(1);
  return { page: PAGES.find((page) => page === name), words: searchParams };
}

export function hrefOf(page: Page, words: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(words).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  const path = page === 'overview' ? '/' : `/${page}`;
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}
