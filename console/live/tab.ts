/** What holds for the whole tab: is it seen, what time is it, is the sidecar there. */
import { effect, signal } from '@preact/signals';
import { CallError } from '../wire/client.js';
import { serverNow } from '../wire/clock.js';

/** Nothing is asked and nothing moves in a tab that nobody sees. */
export const isSeen = signal(document.visibilityState === 'visible');
document.addEventListener('visibilitychange', () => {
  isSeen.value = document.visibilityState === 'visible';
});

/** The clock of the sidecar, moved every second while the tab is seen. */
export const now = signal(serverNow());
effect(() => {
  if (!isSeen.value) return;
  now.value = serverNow();
  const timer = setInterval(() => {
    now.value = serverNow();
  }, 1_000);
  return () => clearInterval(timer);
});

/** Since when the sidecar is away, by the browser's clock. Undefined: it is there. */
export const awaySince = signal<number | undefined>(undefined);
/** Counts how often it came back: what is on the page is asked for anew then. */
export const returns = signal(0);
/** Somebody has to log in, again. */
export const needsLogin = signal(false);

export function answered(): void {
  // The first answer tells by how much the browser's clock is off.
  if (Math.abs(serverNow() - now.peek()) > 1_000) now.value = serverNow();
  if (awaySince.peek() === undefined) return;
  awaySince.value = undefined;
  returns.value = returns.peek() + 1;
}

export function failed(error: unknown): void {
  if (!(error instanceof CallError)) return;
  if (error.code === 'unauthenticated') needsLogin.value = true;
  if (error.code === 'unreachable') awaySince.value ??= Date.now();
  // Whoever refuses is there.
  else answered();
}

/** How many questions before an act are open. What they are about stays as it is under them, or they would go with it. */
export const openQuestions = signal(0);

/** What is read out to those who do not see what changed. */
export const announcement = signal('');

export function announce(text: string): void {
  announcement.value = text;
}
