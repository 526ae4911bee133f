/** The mixed test itself, small and with the client that needs nothing but Node: it runs to its end, and sees what it should. */
import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readLedger } from './ledger-line.js';
import { runMixed } from './run.js';

test('workers and the sidecar are killed, and everything that was promised holds', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'keyturn-mixed-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const wanted = { seed: 7, items: 600, turns: 60, kills: 2, languages: ['typescript'], traffic: undefined };
  const said: string[] = [];
  const report = await runMixed(wanted, folder, (text) => said.push(text));
  deepStrictEqual(report.problems, [], said.join(''));
  strictEqual(report.kills, 2);
  strictEqual(report.called.done, 60);
  // Whether somebody kills the leader is up to chance.
  strictEqual(report.leaders.terms >= 1, true, `${report.leaders.terms} terms of leaders`);
  const ended = report.account.ended.get('typescript') ?? 0;
  strictEqual(ended >= 660, true, `${ended} turns ended`);
  const lines = readLedger(readFileSync(join(folder, 'ledger.tsv'), 'utf8'));
  strictEqual(lines.filter(({ kind }) => kind === 'kill').length, 2);
  strictEqual(lines.filter(({ kind }) => kind === 'crash').length, 1);
});
