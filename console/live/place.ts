/** Where the tab is: the address bar, as a signal. */
import { computed, type ReadonlySignal, signal } from '@preact/signals';
import { type Route, routeOf } from '../words/route.js';

export const address = signal(`${location.pathname}${location.search}`);
export const route: ReadonlySignal<Route> = computed(() => routeOf(address.value));

addEventListener('popstate', () => {
  address.value = `${location.pathname}${location.search}`;
});

export function go(href: string): void {
  if (href !== address.peek()) history.pushState(null, '', href);
  address.value = href;
}

/** A filter that changed: it can be handed on with the address, and is no step of the way back. */
export function replace(href: string): void {
  history.replaceState(null, '', href);
}

/** Links of the page lead there without loading it anew. What opens elsewhere stays a link. */
document.addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (link === null || link.origin !== location.origin || link.target !== '' || link.hasAttribute('download')) return;
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return;
  if (link.hash !== '' && link.pathname === location.pathname && link.search === location.search) return;
  event.preventDefault();
  go(`${link.pathname}${link.search}`);
});
