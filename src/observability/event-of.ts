/** Which line of the log it is, by its text. */
import { LOG_EVENTS } from './log-events.js';

/** The settings' own words are in none of our sentences: who writes them names the event. */
const ANYTHING = '…';
const EXACT = new Map<string, string>();
const FORMS: (readonly [form: RegExp, event: string])[] = [];
for (const { event, says } of LOG_EVENTS) {
  if (!says.includes(ANYTHING)) EXACT.set(says, event);
  else if (says !== ANYTHING) FORMS.push([formOf(says), event]);
}

/** Unset: a line that nobody has named. */
export function eventOf(message: string): string | undefined {
  return EXACT.get(message) ?? FORMS.find(([form]) => form.test(message))?.[1];
}

function formOf(says: string): RegExp {
  const parts = says.split(ANYTHING).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.+')}$`, 's');
}
