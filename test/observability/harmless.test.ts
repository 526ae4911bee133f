/** Foreign text for people: no field of a command or of a log line can act on a terminal, or forge a line. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { harmless, harmlessJson, harmlessLines, harmlessWithin } from '../../src/observability/harmless.js';
import { command } from '../cli/in-process.js';
import { keyturn, put, type Serving, serve, shell } from '../cli/keyturn-process.js';

/** Clears the screen, by an escape sequence and by its one-byte form; forges a line; turns the direction; ends the text. */
const NASTY = '\u001b[2J\u009b2J\r\nkeyturn: all is well\u2028\u202Etxt\u2066\u0000\u0007\u007f\ufeff';
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
const ACTS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/;

function assertHarmless(what: string, text: string): void {
  const found = ACTS.exec(text);
  assert.equal(found, null, `${what}: ${JSON.stringify(text.slice(Math.max(0, (found?.index ?? 0) - 40)))}`);
  assert.doesNotMatch(text, /^keyturn: all is well/m, `${what}: a forged line`);
}

describe('foreign text', () => {
  it('has nothing left on which a terminal acts, and shows what was there', () => {
    assertHarmless('text', harmless(NASTY));
    assert.equal(harmless('a\u001b[2J\nb\u202e\u{e0041}'), 'a\\u001b[2J\\nb\\u202e\\u{e0041}');
    assert.equal(harmless('Grüße, 東京 👍 "q" \\n'), 'Grüße, 東京 👍 "q" \\n');
    assert.equal(harmless('\ud800x'), '\\ud800x');
  });

  it('keeps the lines of a text of ours', () => assert.equal(harmlessLines('a\r\nb'), 'a\\r\nb'));

  it('is the same value in JSON', () => {
    const value = { [NASTY]: NASTY, astral: '\u{e0041}' };
    assertHarmless('JSON', harmlessJson(value));
    assert.deepEqual(JSON.parse(harmlessJson(value)), value);
  });

  it('is found within values, and too deep ones are left out', () => {
    assertHarmless('value', JSON.stringify(harmlessWithin({ [NASTY]: [NASTY, { a: NASTY }] })));
    assert.deepEqual(harmlessWithin({ a: { b: { c: { d: { e: NASTY } } } } }), { a: { b: { c: { d: '…' } } } });
    assert.equal(harmlessWithin(7n), 7n);
  });
});

describe('commands and log, when every field that a client chooses is nasty', { timeout: 600_000 }, () => {
  const cleanUps: (() => Promise<void> | void)[] = [];
  let sidecar: Serving;
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keyturn-test-'));
    cleanUps.push(() => rm(folder, { recursive: true }));
    sidecar = await serve(
      { after: (task) => cleanUps.push(task) },
      `data_dir: ${join(folder, 'data')}\nqueues: { q: { durable: true, retry: { max_attempts: 1 }, when_full: decline, waiting_per_key: 1, idempotency_ttl: 1h } }`,
    );
    await fill();
  });
  after(async () => {
    for (const task of cleanUps.reverse()) await task();
  });

  /** A dead letter, a held turn with a line behind it, an item that waits for another one. */
  async function fill(): Promise<void> {
    const { client } = sidecar;
    const headers = new Map([[NASTY.replaceAll(/[\r\n\0]/g, ''), NASTY]]);
    const item = { key: NASTY, idempotencyKey: NASTY, headers };
    await client.submit({ queue: 'q', items: [{ ...item, itemId: `${NASTY}1` }] });
    const { deliveries } = await client.acquire({ queues: ['q'], consumerId: NASTY });
    const turn = deliveries[0]?.turn ?? assert.fail();
    await client.nack({ ...turn, kind: 'dead_letter', error: NASTY });
    await client.submit({ queue: 'q', items: [{ ...item, itemId: `${NASTY}2` }] });
    const after = [{ queue: 'q', itemId: `${NASTY}2` }];
    await client.submit({ queue: 'q', items: [{ key: `${NASTY}b`, itemId: `${NASTY}3`, after }] });
    await client.acquire({ queues: ['q'], consumerId: NASTY });
  }

  const COMMANDS: readonly (readonly string[])[] = [
    ['keys', 'q'],
    ['explain', 'q', NASTY],
    ['explain', 'q', `${NASTY}b`],
    ['queues'],
    ['queues', NASTY],
    ['dead-letters', 'list', '--queue', 'q'],
    ['submit', '--queue', 'q', '--key', NASTY, '--item-id', `${NASTY}4`, NASTY],
    ['submit', '--queue', 'q', '--key', NASTY, '--item-id', `${NASTY}5`, NASTY],
    ['submit', '--queue', NASTY, '--key', 'k', 'x'],
    ['submit', '--queue', 'q', '--key', 'k', '--after', `q=${NASTY}none`, 'x'],
    ['retry', 'q', NASTY],
    ['retry', 'q', '--item-id', NASTY],
    ['resume', 'q', NASTY],
    ['pause', NASTY],
    ['limits', NASTY],
    ['evict', 'q', NASTY],
    ['dead-letters', 'redrive', '--queue', 'q', '--item-id', NASTY],
  ];
  for (const args of COMMANDS) {
    it(`keyturn ${harmless(args.join(' ')).slice(0, 60)}`, async () => {
      for (const more of [[], ['--json']]) {
        // A NUL cannot be an argument.
        const words = [...args, ...more].map((word) => word.replaceAll('\0', ''));
        const { stdout, stderr } = await command(words, { env: { KEYTURN_ADDRESS: sidecar.address } });
        assert.notEqual(stdout + stderr, '');
        assertHarmless('stdout', stdout);
        assertHarmless('stderr', stderr);
      }
    });
  }

  it('keyturn run: what it says of keys and programs', async () => {
    const key = NASTY.replaceAll('\0', '');
    const args = ['run', '--queue', 'other', '--key', key, '--consumer', key, '--wait', '0s', '--', key];
    const { stderr } = await keyturn(args, { env: { KEYTURN_ADDRESS: sidecar.address } });
    assertHarmless('stderr', stderr);
    assert.match(stderr, /cannot be run|not found/);
  });

  it('keyturn replay and data import: what they say of lines', async () => {
    const file = await put(folder, 'nasty.jsonl', `{"k":1}\n${NASTY}\n`);
    for (const args of [
      ['replay', file, '--key', 'k'],
      ['replay', file, '--key', NASTY.replaceAll('\0', '')],
      ['replay', `${file}${NASTY.replaceAll('\0', '')}`, '--key', 'k', '--format', 'tsv'],
      ['data', 'import', file, '--data-dir', join(folder, 'new')],
    ]) {
      const { stderr, exitCode } = await command(args, { env: { KEYTURN_ADDRESS: sidecar.address } });
      assert.notEqual(exitCode, 0);
      assertHarmless(args.join(' '), stderr);
    }
  });

  it('keyturn data export and check, on standard output', async () => {
    for (const action of ['export', 'check', 'stats']) {
      const { stdout, stderr } = await keyturn(['data', action, '--data-dir', join(folder, 'data')]);
      assert.notEqual(stdout, '');
      assertHarmless(`data ${action}`, stdout + stderr);
    }
  });

  it('the log, as JSON and on a terminal', async () => {
    const script = `
      import { createLogger } from ${JSON.stringify(new URL('../../src/observability/logger.js', import.meta.url).href)};
      const nasty = ${JSON.stringify(NASTY)};
      for (const terminal of [false, true]) {
        const log = await createLogger({ level: 'info', terminal });
        log.info(nasty);
        log.warn({ [nasty]: nasty, list: [nasty], deep: { a: nasty } }, nasty);
        log.error({ err: Object.assign(new Error(nasty), { extra: nasty }) }, 'failed');
        log.error({ err: new Error('x\\n    at y' + nasty, { cause: new Error(nasty) }) }, 'failed');
        log.error({ err: nasty, reason: Object.assign(new Error(nasty), { details: nasty }) }, 'failed');
        log.error({ deep: { list: [new TypeError('what it says' + nasty)] } }, 'failed');
      }`;
    const program = await put(folder, 'log.mjs', script);
    const { stderr, exitCode } = await shell('"$1" "$2"', process.execPath, program);
    assert.equal(exitCode, 0, stderr);
    // The colours are ours.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the sequences of colours
    assertHarmless('log', stderr.replaceAll(/\u001b\[\d+m/g, ''));
    assert.match(stderr, /\\u202etxt/);
    assert.match(stderr, /TypeError: what it says/, 'an error within a field is told');
    assert.match(await readFile(program, 'utf8'), /nasty/);
  });
});
