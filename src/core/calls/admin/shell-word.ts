/** Names that a shell takes as they are. */
const PLAIN = /^[\w.:/@%+=,-]+$/;

/** The text as one word of a command that people copy: a key may hold anything, spaces and quotes too. */
export function shellWord(text: string): string {
  return PLAIN.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
