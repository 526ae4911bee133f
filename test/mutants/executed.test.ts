import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ROOT } from '../project/repository.js';
import { ExecutedBy, isExecuted } from './executed.js';
import { type Trial, tried } from './trial.js';

describe('what a test file executes', () => {
  const compiled = join(ROOT, 'dist/src/core/structures/back-off.js');
  const text = readFileSync(compiled, 'utf8');
  const file = join(ROOT, 'dist/test/core/structures/back-off.test.js');
  let folder = '';
  let runs = 0;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'keyturn-executed-test-'));
  });
  after(() => rmSync(folder, { recursive: true }));

  const lookedUp = (run = tried) =>
    new ExecutedBy(folder, (trial: Trial) => {
      runs += 1;
      return run(trial);
    }).of(file, {});

  it('is found by counting, and kept for the next time', async () => {
    const executed = await lookedUp();
    assert.ok(isExecuted(executed, compiled, text.indexOf('return')));
    assert.ok(!isExecuted(executed, join(ROOT, 'dist/src/core/dispatch/step-end.js'), 0), 'it is not loaded');
    assert.ok(executed.ms > 0);
    assert.deepEqual(await lookedUp(), { ...executed });
    assert.equal(runs, 1);
  });

  it('is looked for anew when something changed that was loaded', async () => {
    const [name] = (await import('node:fs')).readdirSync(folder);
    assert.ok(name !== undefined);
    const kept = JSON.parse(readFileSync(join(folder, name), 'utf8'));
    writeFileSync(join(folder, name), JSON.stringify({ ...kept, loaded: { ...kept.loaded, [compiled]: 'before' } }));
    const before = runs;
    await lookedUp();
    assert.equal(runs, before + 1);
  });

  it('is nothing when it is red without a mutant: it would see every one', async () => {
    rmSync(folder, { recursive: true });
    await assert.rejects(
      lookedUp(async () => ({ is: 'red', by: 'a test', ms: 1 })),
      /without any mutant .*back-off\.test\.js is red: a test/,
    );
  });
});
