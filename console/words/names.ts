/** Names that people and programs chose, made harmless to read: what cannot be seen, or turns what follows around, is shown by its number. */

interface Piece {
  readonly text: string;
  /** It stands for a character that cannot be seen. */
  readonly isMark: boolean;
}

/**
 * Control characters, those that turn the direction of writing or have no width, odd spaces, tags, characters of private
 * use and halves of pairs. A joiner within an emoji is part of it.
 */
const UNSEEN =
  /(?<=\p{Extended_Pictographic}[\u{fe0f}\u{1f3fb}-\u{1f3ff}]?)\u200d(?=\p{Extended_Pictographic})|[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]|(?! )\p{Zs}|^ +| +$|(?<= ) +/gu;
const JOINER = '\u200d';

export function piecesOf(name: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const match of name.matchAll(UNSEEN)) {
    const [found] = match;
    if (found === JOINER && isWithinEmoji(name, match.index)) continue;
    if (match.index > at) pieces.push({ text: name.slice(at, match.index), isMark: false });
    for (const one of found) pieces.push({ text: one === ' ' ? '␣' : numberOf(one), isMark: true });
    at = match.index + found.length;
  }
  if (at < name.length) pieces.push({ text: name.slice(at), isMark: false });
  return pieces;
}

function isWithinEmoji(name: string, at: number): boolean {
  return (
    /\p{Extended_Pictographic}[\u{fe0f}\u{1f3fb}-\u{1f3ff}]?$/u.test(name.slice(0, at)) &&
    /^\p{Extended_Pictographic}/u.test(name.slice(at + 1))
  );
}

function numberOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

/** As text, for titles and for those who listen. */
export function plainName(name: string): string {
  return name === ''
    ? '(no key)'
    : piecesOf(name)
        .map(({ text, isMark }) => (isMark ? `‹${text}›` : text))
        .join('');
}
