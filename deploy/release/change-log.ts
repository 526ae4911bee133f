/** What the change log says of a release. Its form is that of keepachangelog.com, 1.1.0. */

const UNRELEASED = '## [Unreleased]';
const SECTION = /^## \[/m;
const PART = /^### (.+)$/m;

/** What a person has to mend before there can be a release. */
export class ChangeLogError extends Error {
  override readonly name = 'ChangeLogError';
}

/** The order of the parts of a section; others follow. */
const PARTS = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'];

interface Section {
  /** With `##`. */
  readonly title: string;
  readonly body: string;
}

/**
 * Moves what is not released yet below the version and its date. What was written below `[VERSION] - unreleased` before goes with it,
 * each part of it below its part.
 * @param date of the release, 2026-01-31
 * @throws ChangeLogError
 */
export function withRelease(text: string, version: string, date: string): string {
  const { head, sections } = parse(text);
  const [unreleased, ...rest] = sections;
  if (unreleased?.title !== UNRELEASED) throw new ChangeLogError(`the first section is not '${UNRELEASED}'`);
  const announced = rest.find(({ title }) => title === `## [${version}] - unreleased`);
  if (announced === undefined && rest.some(({ title }) => title.startsWith(`## [${version}]`)))
    throw new ChangeLogError(`[${version}] was released before`);
  const body = merged([unreleased.body, announced?.body ?? '']);
  if (body === '') throw new ChangeLogError(`'${UNRELEASED}' is empty: there is nothing to release`);
  const released = { title: `## [${version}] - ${date}`, body };
  const all = [{ title: UNRELEASED, body: '' }, released, ...rest.filter((section) => section !== announced)];
  return head + all.map(({ title, body: under }) => `${title}\n${under === '' ? '' : `\n${under}\n`}`).join('\n');
}

/** @returns what is told of a release, without its heading @throws ChangeLogError when it has no date, or is not there */
export function notesOf(text: string, version: string): string {
  const found = parse(text).sections.find(({ title }) => title.startsWith(`## [${version}]`));
  if (found === undefined) throw new ChangeLogError(`CHANGELOG.md has no section '## [${version}] - DATE'`);
  if (!/ - \d{4}-\d{2}-\d{2}$/.test(found.title))
    throw new ChangeLogError(`CHANGELOG.md says '${found.title}': a release has its date, as 2026-01-31`);
  return `${found.body}\n`;
}

function parse(text: string): { readonly head: string; readonly sections: readonly Section[] } {
  const [head = '', ...others] = text.split(SECTION);
  const sections = others.map((other) => {
    const [first = '', ...lines] = other.split('\n');
    return { title: `## [${first}`, body: lines.join('\n').trim() };
  });
  return { head, sections };
}

/** The parts of all bodies, each once. */
function merged(bodies: readonly string[]): string {
  const parts = new Map<string, string[]>(PARTS.map((name) => [name, []]));
  for (const body of bodies) {
    const [before = '', ...pairs] = body.split(PART);
    if (before.trim() !== '') throw new ChangeLogError(`no part has '${before.trim().split('\n')[0]}'`);
    for (let at = 0; at < pairs.length; at += 2) {
      const name = pairs[at] ?? '';
      parts.set(name, [...(parts.get(name) ?? []), (pairs[at + 1] ?? '').trim()]);
    }
  }
  const full = [...parts].filter(([, texts]) => texts.length > 0);
  return full.map(([name, texts]) => `### ${name}\n\n${texts.join('\n')}`).join('\n\n');
}
