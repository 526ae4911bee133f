/**
 * Foreign text for people. Names, keys, errors come from whoever can reach the sidecar; on a terminal an escape sequence
 * in one of them clears the screen, a line break forges a line, and a change of direction (Unicode, "Trojan Source",
 * CVE-2021-42574) makes it read as another text.
 */

/** Control and format characters, surrogates without their other half, private and unassigned ones, line separators. */
const HARMFUL = /[\p{C}\p{Zl}\p{Zp}]/gu;

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** The text on one line, with each character that a terminal would act on as the escape that JavaScript has for it. */
export function harmless(text: string): string {
  return text.replace(HARMFUL, (character) => SHORT[character] ?? escaped(character));
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`;
}

/** The same for a text that has several lines of its own making. */
export function harmlessLines(text: string): string {
  return text.split('\n').map(harmless).join('\n');
}

/** JSON on one line that a terminal shows as it stands; it reads back as the same value. */
export function harmlessJson(value: unknown): string {
  return JSON.stringify(value).replace(HARMFUL, (character) => {
    let text = '';
    for (let at = 0; at < character.length; at += 1)
      text += `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`;
    return text;
  });
}

/** How deep a value of a log line is looked through. */
const DEEPEST = 4;

/** All texts within a value, names of fields included. An error is its name and what it says: JSON would show neither. */
export function harmlessWithin(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return harmless(value);
  if (value instanceof Error) return harmless(String(value));
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= DEEPEST) return '…';
  if (Array.isArray(value)) return value.map((one) => harmlessWithin(one, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [harmless(name), harmlessWithin(one, depth + 1)]),
  );
}
