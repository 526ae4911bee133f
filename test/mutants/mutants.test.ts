import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { read, sources } from '../project/repository.js';
import { ALIKE, alikeOf } from './alike.js';
import { mutantsOf, sampled } from './mutants.js';
import { stagesOf } from './stages.js';

describe('mutants', () => {
  const all = Array.from({ length: 1_000 }, (_, at) => at);

  it('are chosen by the seed: the same again, others with another one, none twice', () => {
    const chosen = sampled(all, 50, 7);
    assert.deepEqual(sampled(all, 50, 7), chosen);
    assert.notDeepEqual(sampled(all, 50, 8), chosen);
    assert.equal(new Set(chosen).size, 50);
  });

  it('of a longer sample the first are those of the shorter one', () =>
    assert.deepEqual(sampled(all, 80, 7).slice(0, 50), sampled(all, 50, 7)));

  it('are all tried when there are fewer than asked for', () =>
    assert.deepEqual(
      sampled([1, 2, 3], 50, 7).toSorted((one, other) => one - other),
      [1, 2, 3],
    ));

  it('name the line of the source', () => {
    const lines = read('src/core/dispatch/step-end.ts').text.split('\n');
    const mutants = mutantsOf(['core/dispatch/step-end']);
    const budget = mutants.filter(({ before }) => before.startsWith('const BUDGET'));
    assert.ok(budget.length > 0 && budget.every(({ line }) => lines[line - 1]?.startsWith('const BUDGET')));
  });

  it('that change nothing are still there, each with a reason', () => {
    for (const alike of ALIKE) {
      assert.ok(
        mutantsOf([alike.path]).some((mutant) => alikeOf(mutant, [alike])),
        `${alike.path}: no mutant makes "${alike.after}" of "${alike.before}"; take it out of test/mutants/alike.ts`,
      );
      assert.ok(alike.why.length > 20, alike.why);
    }
  });
});

describe('the tests that are asked about a file', () => {
  const tests = sources('test').flatMap(({ path }) => (path.endsWith('.test.ts') ? path : []));
  const first = (path: string) => stagesOf(path, tests)[0];

  it('are its own first', () => {
    assert.deepEqual(
      first('src/core/admission/capacity.ts')?.files.includes('test/core/admission/capacity.test.ts'),
      true,
    );
    assert.deepEqual(first('src/local/loop.ts')?.files, ['test/local/loop.test.ts']);
  });

  it('then those of its room, when it has none', () =>
    assert.equal(first('src/core/dispatch/step-end.ts')?.name, 'core'));

  it('are there', () => {
    const known = new Set(tests);
    for (const path of ['src/core/dispatch/step-end.ts', 'src/local/loop.ts'])
      for (const { files } of stagesOf(path, tests, true)) for (const file of files) assert.ok(known.has(file), file);
  });

  it('with bounded memory as the last, when somebody wants it', () => {
    const names = (withMemory: boolean) =>
      stagesOf('src/core/dispatch/step-end.ts', tests, withMemory).map(({ name }) => name);
    assert.deepEqual(names(true), [...names(false), 'memory']);
  });
});
