import { deepStrictEqual, strictEqual, throws } from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { find, type NeededProgram, needs } from './needed-program.js';

describe('a program that tests need', () => {
  const folder = mkdtempSync(join(tmpdir(), 'keyturn-programs-'));
  after(() => rmSync(folder, { recursive: true }));
  const [empty, full] = [join(folder, 'empty'), join(folder, 'full')];
  mkdirSync(empty);
  mkdirSync(full);
  for (const name of ['brokerd', 'not-executable']) writeFileSync(join(full, name), '#!/bin/sh\n');
  chmodSync(join(full, 'brokerd'), 0o755);

  const brokerd: NeededProgram = { name: 'brokerd', install: 'Install it with: apt-get install brokerd.' };
  const missing = 'brokerd is not on this machine. Install it with: apt-get install brokerd.';

  it('is found on PATH', () => {
    deepStrictEqual(find(brokerd, { PATH: [empty, full].join(delimiter) }), { path: join(full, 'brokerd') });
    deepStrictEqual(needs([brokerd], { PATH: full, CI: 'true' }), {});
  });

  it('is found in a place of its own first', () => {
    const places = [join(folder, 'nowhere'), join(full, 'brokerd')];
    deepStrictEqual(find({ ...brokerd, places }, {}), { path: join(full, 'brokerd') });
  });

  it('that cannot be run is none', () => {
    strictEqual('missing' in find({ ...brokerd, name: 'not-executable' }, { PATH: full }), true);
  });

  it('that another one reads need not be one that can be run', () => {
    deepStrictEqual(find({ ...brokerd, name: 'not-executable', isRead: true }, { PATH: full }), {
      path: join(full, 'not-executable'),
    });
  });

  it("is missing on a person's machine: the test is skipped, and says what is missing and how to get it", () => {
    deepStrictEqual(needs([brokerd], { PATH: empty }), { skip: missing });
  });

  it('is missing in continuous integration: the test fails, and says the same', () => {
    throws(() => needs([brokerd], { PATH: empty, CI: 'true' }), { message: missing });
  });
});
