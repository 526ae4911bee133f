/** What is missing on a machine is told before anything runs: what, how old it is, and how to get it. */
import { deepStrictEqual, match, strictEqual } from 'node:assert/strict';
import { test } from 'node:test';
import { type Ask, isLanguage, LANGUAGES, missingTools, TOOLS } from './toolchains.js';

/** A machine on which each program says this. */
function machine(said: Readonly<Record<string, string>>): Ask {
  return async ([program]) => said[program];
}

const GOOD: Readonly<Record<string, string>> = {
  [process.execPath]: 'v20.19.0',
  python3: 'Python 3.10.0',
  go: 'go version go1.22 linux/amd64',
  javac: 'javac 17.0.15',
  mvn: 'Apache Maven 3.8.7',
};

test('nothing is missing where everything is new enough', async () => {
  for (const language of LANGUAGES) deepStrictEqual(await missingTools(language, machine(GOOD)), [], language);
});

const OLD: readonly (readonly [(typeof LANGUAGES)[number], Readonly<Record<string, string>>, RegExp])[] = [
  ['typescript', { [process.execPath]: 'v18.20.4' }, /^Node 20\.19 or newer is missing: this one is 18\.20\. .*nvm/],
  ['python', { python3: 'Python 3.9.18' }, /^Python 3\.10 or newer is missing: this one is 3\.9\. .*python3-venv/],
  ['go', { go: 'go version go1.19.8 linux/amd64' }, /^Go 1\.22 or newer is missing: this one is 1\.19\. .*golang-go/],
  [
    'java',
    { ...GOOD, javac: 'javac 11.0.2' },
    /^JDK 17\.0 or newer is missing: this one is 11\.0\. .*openjdk-17-jdk-headless/,
  ],
  [
    'java',
    { ...GOOD, mvn: 'Apache Maven 3.6.3' },
    /^Maven 3\.8 or newer is missing: this one is 3\.6\. .*apt-get install maven/,
  ],
];

for (const [language, said, told] of OLD) {
  test(`too old for ${language}: ${Object.values(said).at(-1)}`, async () => {
    const missing = await missingTools(language, machine(said));
    strictEqual(missing.length, 1);
    match(missing[0] ?? '', told);
  });
}

test('what is not there at all is missing, and how to get it is told', async () => {
  for (const language of LANGUAGES) {
    const missing = await missingTools(language, machine({}));
    match(missing.join(), / or newer is missing\. \S+/);
  }
});

test('a real program is asked, and one that is not there is none', async () => {
  deepStrictEqual(await missingTools('typescript'), []);
  strictEqual(isLanguage('typescript'), true);
  strictEqual(isLanguage('cobol'), false);
});

test('no way to get something names the host of a registry', () => {
  for (const { get } of Object.values(TOOLS).flat()) strictEqual(/https?:|\.(com|org|io)\b/.test(get), false, get);
});
