/** Names of hosts, without ports: a list, or in a variable or a flag a text with commas. */
import { parseAddress } from './address.js';
import { type Kind, refuse } from './kinds.js';
import { showText, type Written } from './written.js';

const MOST = 32;
const ALLOWED = `a list of up to ${MOST} names or addresses of hosts, without ports`;

export const hostNames: Kind<readonly string[]> = {
  allowed: ALLOWED,
  write: (names) => [...names],
  read(written, at, inherited) {
    const texts = textsOf(written);
    if (texts === undefined || texts.length > MOST) {
      refuse(written, at, ALLOWED);
      return inherited;
    }
    for (const text of texts)
      if (!isHost(text)) at.problems.add(at.path, written.place, `has ${showText(text)} in it, must be ${ALLOWED}`);
    return texts.filter(isHost);
  },
};

/** Unset: it is neither. */
function textsOf(written: Written): readonly string[] | undefined {
  if (written.kind === 'list') return [...written.items()].map((item) => (item.kind === 'scalar' ? item.text : ''));
  if (written.kind !== 'scalar' || typeof written.value !== 'string') return undefined;
  return written.text === '' ? [] : written.text.split(',').map((text) => text.trim());
}

function isHost(text: string): boolean {
  const parsed = parseAddress(`${text.includes(':') ? `[${text}]` : text}:1`);
  return parsed?.kind === 'tcp';
}
