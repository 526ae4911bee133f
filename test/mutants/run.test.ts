import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Mutant } from './mutants.js';
import { report, share } from './report.js';
import { run } from './run.js';
import type { Stage } from './stages.js';
import { type Outcome, putInOf, type Trial, tried } from './trial.js';

describe('one run of tests', () => {
  let folder = '';
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'keyturn-trial-'));
    const file = (name: string, text: string) => writeFileSync(join(folder, name), text);
    file('package.json', '{ "type": "module" }');
    file('sum.js', 'export const sum = (a, b) => a + b;');
    file('other.test.js', "import { it } from 'node:test'; it('something else', () => {});");
    file(
      'sum.test.js',
      `import { strictEqual } from 'node:assert'; import { it } from 'node:test'; import { sum } from './sum.js';
       it('two and one are three', () => strictEqual(sum(2, 1), 3));
       it('is not reached', () => strictEqual(sum(3, 1), 4));`,
    );
  });
  after(() => rmSync(folder, { recursive: true }));

  const trial = (text: string | undefined, limitMs = 60_000): Promise<Outcome> =>
    tried({
      files: ['other.test.js', 'sum.test.js'].map((name) => join(folder, name)),
      env: {},
      mutant: text === undefined ? undefined : putInOf(join(folder, 'sum.js'), text),
      folder,
      limitMs,
    });
  const by = (outcome: Outcome) => (outcome.is === 'red' ? outcome.by : outcome.is);

  it('is green without a mutant', async () => assert.equal(by(await trial(undefined)), 'green'));

  it('is green with a mutant that no test sees', async () =>
    assert.equal(by(await trial('export const sum = (a, b) => b + a;')), 'green'));

  it('is red by the first test that sees it, and ends there', async () =>
    assert.equal(by(await trial('export const sum = (a, b) => a - b;')), 'two and one are three'));

  it('is red when a file cannot even be loaded', async () =>
    assert.equal(by(await trial('export const total = 1;')), 'the process ended with 1'));

  it('is red when the process breaks down', async () =>
    assert.equal(
      by(await trial("export const sum = () => process.kill(process.pid, 'SIGKILL');")),
      'the process ended with SIGKILL',
    ));

  it('does not end when a loop has no end', async () =>
    assert.equal(by(await trial('export const sum = () => { for (;;); };', 3_000)), 'endless'));
});

describe('a run of mutants', () => {
  const stage = (name: string): Stage => ({ name, files: [`test/${name}.test.ts`], env: {} });
  const mutant = (line: number): Mutant => ({
    path: 'src/core/dispatch/step-end.ts',
    line,
    kind: 'logic',
    before: 'a && b',
    after: 'a || b',
    compiled: '/step-end.js',
    at: line,
    text: () => `mutant ${line}`,
  });

  /**
   * @param outcome of a stage with a mutant
   * @param isRun whether the stage executes the mutant
   */
  async function ran(
    count: number,
    outcome: (stage: string, mutant: string | undefined) => Outcome['is'],
    isRun: (stage: string, line: number) => boolean = () => true,
  ) {
    const asked: string[] = [];
    const nameOf = (files: string) => (files.includes('units') ? 'units' : 'model');
    const executed = async (file: string) => {
      const lines = Array.from({ length: count + 1 }, (_, line) => line);
      const parts = lines.filter((line) => isRun(nameOf(file), line)).flatMap((line) => [line, line + 1]);
      return { ms: 1, parts: { '/step-end.js': parts }, startsProcesses: false };
    };
    const verdicts = await run({
      mutants: Array.from({ length: count }, (_, at) => mutant(at + 1)),
      stagesOf: () => [stage('units'), stage('model')],
      together: 2,
      onVerdict: () => {},
      executed: { of: executed },
      tried: async ({ files, mutant }: Trial) => {
        const name = nameOf(files.join());
        asked.push(`${name} ${mutant?.text}`);
        const is = outcome(name, mutant?.text);
        return is === 'red' ? { is, by: 'a test', ms: 1 } : { is, ms: 1 };
      },
    });
    return { verdicts, asked };
  }

  it('asks no further when one saw it, counts what never ends as seen, and tells the rest', async () => {
    const { verdicts, asked } = await ran(3, (name, mutant) => {
      if (mutant === 'mutant 1') return 'red';
      return mutant === 'mutant 2' && name === 'model' ? 'endless' : 'green';
    });
    assert.deepEqual(
      verdicts.map(({ seenBy }) => seenBy),
      ['units: a test', 'model: it does not end', undefined],
    );
    assert.ok(!asked.includes('model mutant 1'));
    assert.equal(share(verdicts), 66.6);
    const told = report(verdicts, []);
    assert.match(
      told,
      /^SURVIVES src\/core\/dispatch\/step-end\.ts:3 logic: a && b -> a \|\| b \[by all tests that execute it\]/,
    );
    assert.match(told, /score 66\.6 %: 2 of 3 seen, 0 change nothing/);
  });

  it('asks only those that execute what was changed, and says when none does', async () => {
    const { verdicts, asked } = await ran(
      2,
      () => 'green',
      (name, line) => name === 'model' && line === 1,
    );
    assert.deepEqual(asked, ['model mutant 1']);
    assert.match(report(verdicts, []), /step-end\.ts:2 .*\[no test executes it\]/);
  });
});
