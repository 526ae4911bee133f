/** Files that cannot be used as a whole. */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, test } from 'node:test';
import { loadConfig } from '../../src/config/config.js';
import { load, problemsIn, problemsOf, yamlFile } from './yaml-file.js';

const NOT_YAML: readonly (readonly [what: string, yaml: string, problem: RegExp])[] = [
  ['an open list', 'a: [\n', /^ \(keyturn\.yaml:2:1\): is not valid YAML: /],
  ['a tab as indent', 'limits:\n\tqueues: 1\n', /^ \(keyturn\.yaml:2:1\): is not valid YAML: .*tab/i],
  [
    'two documents',
    'log_level: info\n---\nlog_level: warn\n',
    /^ \(keyturn\.yaml:2:1\): is not valid YAML: .*document/,
  ],
  [
    'an unknown tag',
    'log_level: !secret info\n',
    /^ \(keyturn\.yaml:1:12\): is not valid YAML: Unresolved tag: !secret/,
  ],
  ['a key that is a list', '? [a]\n: b\n', /^ \(keyturn\.yaml:1:3\): is not valid YAML: .*strings/],
  [
    'an alias of nothing',
    'default: *nothing\n',
    /^ \(keyturn\.yaml:1:10\): is not valid YAML: nothing is anchored as &nothing/,
  ],
];

describe('not YAML', () => {
  for (const [what, yaml, expected] of NOT_YAML) {
    test(what, (t) => assert.match(problemsIn(t, yaml)[0] ?? 'no problem', expected));
  }

  for (const opening of ['[', '{', '- ', '? ', '[{', '\n[', '{a: ']) {
    test(`nesting without end by ${JSON.stringify(opening)}`, (t) => {
      const expected = ' (keyturn.yaml): nests deeper than 100 levels; a configuration needs 4';
      assert.deepEqual(problemsIn(t, opening.repeat(200_000)), [expected]);
    });
  }

  test('an alias that stands for billions of entries is refused', (t) => {
    const levels = Array.from(
      { length: 30 },
      (_, index) => `x${index + 1}: &x${index + 1} { a: *x${index}, b: *x${index} }`,
    );
    const problems = problemsIn(t, `x0: &x0 { a: 1 }\n${levels.join('\n')}\n`);
    assert.match(problems.join(), /has more than 200000 entries/);
  });

  test('12,000 aliases are read as fast as as many values', (t) => {
    const processorTime = (value: string) => {
      const queues = Array.from({ length: 12_000 }, (_, index) => `  q${index}: ${value}`);
      const since = process.cpuUsage();
      const problems = problemsIn(t, `default: &x { lease: 5s }\nqueues:\n${queues.join('\n')}\n`);
      assert.match(problems[0] ?? '', /has 12000 names/);
      const { user, system } = process.cpuUsage(since);
      return user + system;
    };
    processorTime('{ lease: 5s }');
    const values = processorTime('{ lease: 5s }');
    // It grew with the square of their number when each was looked for in the whole file.
    const aliases = processorTime('*x');
    assert.ok(aliases < 5 * values, `${aliases} µs, and ${values} µs for values`);
  });

  test('aliases that stand for more entries than a configuration has are refused', (t) => {
    const queues = Array.from({ length: 45_000 }, (_, index) => `  q${index}: *x`);
    const policy = 'default: &x { lease: 5s, max_hold: 5s, wait: 5s, durable: false }';
    const [problem = '', ...others] = problemsIn(t, `${policy}\nqueues:\n${queues.join('\n')}\n`);
    assert.match(problem, /has more than 200000 entries, counting what aliases stand for/);
    assert.deepEqual(others, []);
  });

  test('an alias stands for the last anchor of its name before it', (t) => {
    const yaml = 'default: &x { lease: 5s }\nqueues:\n  a: *x\n  b: &x { lease: 7s }\n  c: *x\n';
    const { queues } = load(t, yaml).coordinator;
    assert.deepEqual(
      [...queues.values()].map(({ lease }) => lease),
      [5_000, 7_000, 7_000],
    );
  });

  test('an alias of itself ends', (t) => assert.equal(problemsIn(t, 'default: &a { retry: *a }').length, 1));
});

describe('a file that cannot be read', () => {
  test('there is none', (t) => {
    const config = yamlFile(t, '');
    rmSync(config);
    const found = problemsOf(() => loadConfig({}, { KEYTURN_CONFIG: config }));
    assert.equal(found.length, 1);
    assert.match(found[0] ?? '', /^ \(keyturn\.yaml\): cannot be read: ENOENT: .*named by KEYTURN_CONFIG/);
  });

  test('it is a directory', (t) => {
    const config = dirname(yamlFile(t, ''));
    assert.match(problemsOf(() => loadConfig({ config }, {}))[0] ?? '', /cannot be read: EISDIR: .*named by --config/);
  });

  test('it has no name', () => {
    assert.match(problemsOf(() => loadConfig({ config: '' }, {}))[0] ?? '', /cannot be read: ENOENT/);
  });

  test('it is not UTF-8', (t) => {
    const config = yamlFile(t, Uint8Array.of(0x6c, 0xff, 0xfe));
    assert.match(problemsOf(() => loadConfig({ config }, {}))[0] ?? '', /cannot be read: .*utf-8/i);
  });

  test('it is larger than 1 MiB', (t) => {
    const comment = `#${'x'.repeat(1_048_575)}`;
    assert.deepEqual(problemsIn(t, comment), []);
    assert.deepEqual(problemsIn(t, `${comment}x`), [
      ' (keyturn.yaml): is larger than 1048576 bytes (named by --config)',
    ]);
  });

  test('it has no end', () => {
    assert.match(problemsOf(() => loadConfig({ config: '/dev/zero' }, {}))[0] ?? '', /larger than 1048576 bytes/);
  });

  test('the other problems are told nevertheless', () => {
    const found = problemsOf(() => loadConfig({ config: '/nonexistent/keyturn.yaml', listen: 'x' }, {}));
    assert.equal(found.length, 2);
  });
});
