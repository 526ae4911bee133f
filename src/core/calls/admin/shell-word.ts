/** Names that a shell takes as they are. */
const PLAIN = /^[\w.:/@%+=,-]+$/;

/** As one word of a command that people copy. */
export function shellWord(text: string): string {
  return PLAIN.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
