/** The change log of a release: what was not released is released, and nothing is lost. */
import { strictEqual, throws } from 'node:assert/strict';
import { test } from 'node:test';
import { ChangeLogError, notesOf, withRelease } from '../../deploy/release/change-log.js';
import { read } from '../project/repository.js';

const HEAD = '# Changelog\n\nIts form.\n\n';
const OLD = '## [0.1.0] - 2026-01-01\n\n### Added\n\n- the first\n';

function released(unreleased: string, rest = OLD): string {
  return withRelease(`${HEAD}## [Unreleased]\n${unreleased}\n${rest}`, '0.2.0', '2026-12-24');
}

test('what is not released goes below the version and its date', () => {
  strictEqual(
    released('\n### Added\n\n- a\n- b\n\n### Fixed\n\n- c\n'),
    `${HEAD}## [Unreleased]\n\n## [0.2.0] - 2026-12-24\n\n### Added\n\n- a\n- b\n\n### Fixed\n\n- c\n\n${OLD}`,
  );
});

test('what was written below the version before goes with it, each part below its part', () => {
  const announced = '## [0.2.0] - unreleased\n\n### Known limits\n\n- l\n\n### Fixed\n\n- d\n\n### Added\n\n- e\n\n';
  strictEqual(
    released('\n### Fixed\n\n- c\n', announced + OLD),
    `${HEAD}## [Unreleased]\n\n## [0.2.0] - 2026-12-24\n\n### Added\n\n- e\n\n### Fixed\n\n- c\n- d\n\n### Known limits\n\n- l\n\n${OLD}`,
  );
});

const REFUSED: readonly (readonly [string, string, RegExp])[] = [
  ['nothing to release', `${HEAD}## [Unreleased]\n\n${OLD}`, /is empty/],
  ['no section for it', `${HEAD}${OLD}`, /the first section is not/],
  ['an entry of no part', `${HEAD}## [Unreleased]\n\n- a\n`, /no part has '- a'/],
  [
    'a version that was released',
    `${HEAD}## [Unreleased]\n\n### Added\n\n- a\n\n## [0.2.0] - 2026-01-01\n`,
    /released before/,
  ],
];

for (const [title, text, says] of REFUSED) {
  test(`refused: ${title}`, () => {
    throws(
      () => withRelease(text, '0.2.0', '2026-12-24'),
      (error) => error instanceof ChangeLogError && says.test(error.message),
    );
  });
}

test('the notes of a release are its section, which has a date', () => {
  strictEqual(notesOf(HEAD + OLD, '0.1.0'), '### Added\n\n- the first\n');
  throws(() => notesOf(HEAD + OLD, '0.2.0'), /no section/);
  throws(() => notesOf(`${HEAD}## [0.1.0] - unreleased\n`, '0.1.0'), /has its date/);
});

test("this project's own change log can be released, and no entry of it is lost", () => {
  const text = read('CHANGELOG.md').text;
  const version: string = JSON.parse(read('package.json').text).version;
  const entries = (of: string) =>
    of
      .split('\n')
      .filter((line) => line.startsWith('- '))
      .sort()
      .join('\n');
  const after = withRelease(text, version, '2026-12-24');
  strictEqual(entries(after), entries(text));
  strictEqual(entries(notesOf(after, version)), entries(text));
});
