/** The check of traces sees what it should, and nothing else. The bad samples are put together here, or this file would be one. */
import { deepStrictEqual, match } from 'node:assert/strict';
import { test } from 'node:test';
import { checkTraces } from './traces.js';

const path = 'docs/a.md';
const slash = (...parts: readonly string[]) => ['', ...parts].join('/');
const dots = (...parts: readonly string[]) => parts.join('.');

const BAD: readonly (readonly [string, string])[] = [
  ['a home', `see ${slash('home', 'ada', 'keyturn')}`],
  ['a home on a Mac', `see ${slash('Users', 'ada', 'keyturn')}`],
  ["root's home", `see ${slash('root', 'keyturn')}`],
  ['a home on Windows', `see ${['C:', 'Users', 'ada'].join('\\')}`],
  ['a place for temporary files', `see ${slash('tmp', 'keyturn')}`],
  ['a working place', `"${slash('work', 'keyturn')}"`],
  ['a registry', `https://${dots('registry', 'npmjs', 'org')}/pino`],
  ['a page of a registry', `https://www.${dots('npmjs', 'com')}/package/pino`],
  ['a registry of Python', `https://${dots('pypi', 'org')}/project/grpcio`],
  ['files of Python', `https://${dots('files', 'pythonhosted', 'org')}/packages`],
  ['a registry of Java', `https://${dots('repo', 'maven', 'apache', 'org')}/maven2`],
  ['another registry of Java', `https://${dots('repo1', 'maven', 'org')}/maven2`],
  ['a search in a registry of Java', `https://${dots('central', 'sonatype', 'com')}/artifact`],
  ['a proxy of Go', `https://${dots('proxy', 'golang', 'org')}`],
  ['a page of Go modules', `https://${dots('pkg', 'go', 'dev')}/google.golang.org/grpc`],
  ['a setting of Go', `export ${'GOPROXY'}=https://example.org`],
  ['a setting of pip', `${'index-url'} = https://example.org`],
  ['a lock file that says from where', `"${'resolved'}": "https://example.org/pino.tgz"`],
  ['a setting of npm', `${'registry'}=https://example.org`],
  ['the registry of this machine', 'https://packages.example.org/pino'],
];

for (const [what, text] of BAD) {
  test(`a trace: ${what}`, () => {
    match(
      checkTraces([{ path, text: `\n${text}\n` }], 'https://packages.example.org/npm/').join('\n'),
      /^docs\/a\.md:2: /,
    );
  });
}

test('no traces: paths of every machine, loopback, words', () => {
  const text =
    'unix:/run/keyturn/keyturn.sock /var/lib/keyturn https://example.org/home/ada 127.0.0.1 ./work/out homework';
  deepStrictEqual(checkTraces([{ path, text }], 'http://127.0.0.1:4873/'), []);
  deepStrictEqual(checkTraces([{ path, text }], undefined), []);
});

test('no traces: what a pom, a go.mod and a lock file of Python name', () => {
  const pom =
    '<project xmlns="http://maven.apache.org/POM/4.0.0" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"';
  const lines = [pom, 'google.golang.org/grpc v1.76.0', 'grpcio==1.76.0 --hash=sha256:00', 'the index, url by url'];
  for (const text of lines) deepStrictEqual(checkTraces([{ path, text }], undefined), [], text);
});
