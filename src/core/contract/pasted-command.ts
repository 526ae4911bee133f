/** Commands that people paste into a shell. The names in them come from tenants, and may hold anything. */

/**
 * A command of `keyturn`, quoted for any POSIX shell, bash and zsh.
 *
 * @param words the command and its options
 * @param positional what stands behind `--`: none of these is taken for an option
 */
export function pastedCommand(words: readonly string[], positional: readonly string[] = []): string {
  const behind = positional.length === 0 ? [] : ['--', ...positional];
  return ['keyturn', ...words, ...behind].map(shellWord).join(' ');
}

/** Taken as they are. A word that begins with `=` is the path of a program in zsh. */
const PLAIN = /^[A-Za-z0-9_.:/@%+,-]+$/;
/** What a terminal does not show as it is. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/u;

/** No shell hands a NUL on: without it the word would be another key. This one is nobody's. */
const WITH_NUL = "'(it has a NUL, which no shell passes on)'";

function shellWord(text: string): string {
  if (PLAIN.test(text)) return text;
  if (text.includes('\0')) return WITH_NUL;
  if (UNPRINTABLE.test(text)) return escaped(text);
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * In octal, so that it is one line and shows what it holds. `printf` is what all of these shells have; they drop line feeds
 * at the end of what a command prints, so that those stand as they are.
 */
function escaped(text: string): string {
  const head = text.replace(/\n+$/, '');
  const octal = encodeURIComponent(head)
    .replace(/[!'()*~]/g, (one) => `%${one.charCodeAt(0).toString(16)}`)
    .replace(/%(..)/g, (_, hex: string) => `\\0${Number.parseInt(hex, 16).toString(8).padStart(3, '0')}`);
  const tail = text.slice(head.length);
  return `"$(printf %b '${octal}')"${tail === '' ? '' : `'${tail}'`}`;
}
