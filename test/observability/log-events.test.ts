/** S428: every line of the log has a name that stays, and docs/LOGS.md tells of each what it means. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from '@babel/parser';
import { eventOf } from '../../src/observability/event-of.js';
import { LOG_EVENTS } from '../../src/observability/log-events.js';
import { put, shell, temporaryFolder } from '../cli/keyturn-process.js';
import { read, sources } from '../project/repository.js';

const LEVELS: ReadonlySet<string> = new Set(['info', 'warn', 'error', 'fatal']);

interface Line {
  readonly place: string;
  readonly level: string;
  /** Unset: the text is made somewhere else. */
  readonly says: string | undefined;
}

interface Node {
  readonly type: string;
  readonly [field: string]: unknown;
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

function linesIn(path: string, node: unknown): Line[] {
  if (Array.isArray(node)) return node.flatMap((one) => linesIn(path, one));
  if (!isNode(node)) return [];
  const below = Object.entries(node).flatMap(([name, one]) => (name === 'loc' ? [] : linesIn(path, one)));
  const level = levelOf(node);
  if (level === undefined || !Array.isArray(node['arguments'])) return below;
  return [...below, { place: path, level, says: textOf(node['arguments'].at(-1)) }];
}

/** `log.warn(…)`, `this.log.warn(…)`, `context.log.warn(…)`, and `this.warn(…)` of those who may only warn. */
function levelOf({ type, callee }: Node): string | undefined {
  if (type !== 'CallExpression' || !isNode(callee) || callee.type !== 'MemberExpression') return undefined;
  const { object, property } = callee;
  const level = isNode(property) ? property['name'] : undefined;
  const last = isNode(object) && object.type === 'MemberExpression' ? object['property'] : object;
  const isOwn = isNode(object) && object.type === 'ThisExpression';
  const isLog =
    isOwn || (isNode(last) && (last['name'] === 'log' || (isNode(last['id']) && last['id']['name'] === 'log')));
  return isLog && typeof level === 'string' && LEVELS.has(level) ? level : undefined;
}

function textOf(node: unknown): string | undefined {
  if (!isNode(node)) return undefined;
  if (node.type === 'StringLiteral') return String(node['value']);
  if (node.type !== 'TemplateLiteral' || !Array.isArray(node['quasis'])) return undefined;
  return node['quasis'].map((part: unknown) => (isNode(part) ? cookedOf(part['value']) : '')).join('…');
}

function cookedOf(value: unknown): string {
  return typeof value === 'object' && value !== null && 'cooked' in value ? String(value.cooked) : '';
}

const LINES: readonly Line[] = sources('src').flatMap(({ path, text }) =>
  linesIn(path, parse(text, { sourceType: 'module', plugins: ['typescript'] }).program),
);
/** Their texts are made by functions, or handed on. */
const MADE: readonly (readonly [place: string, ...events: string[]])[] = [
  ['src/cli/serve/serve.ts', 'settings_doubtful'],
  ['src/cli/serve/sidecar.ts'],
  ['src/grpc/server/connections.ts', 'connections_full'],
];

test('S428: every line that the source writes is named, with its level, and nothing is named that it does not write', () => {
  assert.ok(LINES.length > 40, `${LINES.length} lines`);
  const known = new Map(LOG_EVENTS.map(({ event, level, says }) => [`${level} ${says}`, event]));
  const written = new Set(MADE.flatMap(([, ...events]) => events));
  for (const { place, level, says } of LINES.filter((line) => line.says !== undefined)) {
    const event = known.get(`${level} ${says}`);
    assert.ok(event !== undefined, `${place}: "${says}" (${level}) has no name in src/observability/log-events.ts`);
    written.add(event);
  }
  assert.deepEqual(
    LINES.filter(({ says }) => says === undefined).map(({ place }) => place),
    MADE.map(([place]) => place),
  );
  assert.deepEqual([...written].sort(), LOG_EVENTS.map(({ event }) => event).sort());
});

test('S428: no text has two names, whatever stands in its gaps', () => {
  for (const { event, says } of LOG_EVENTS.filter((one) => one.says !== '…')) {
    assert.equal(eventOf(says), event);
    assert.equal(eventOf(says.replaceAll('…', 'x\ny (1) – stopped')), event);
    assert.equal(eventOf(`x ${says}`), undefined, 'only from the beginning on');
  }
  assert.equal(eventOf('something else'), undefined);
});

test('S428: docs/LOGS.md has each name once, with level and text, what it means, and what to do where it is more than news', () => {
  const [, table = ''] = read('docs/LOGS.md').text.split('## Every line');
  const rows = table
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  const told = rows.map(([event, level, says]) => [event, level, says]);
  const expected = LOG_EVENTS.map(({ event, level, says }) => [`\`${event}\``, level, `\`${says}\``]);
  assert.deepEqual(told, expected);
  for (const [event, level, , means = '', todo = ''] of rows) {
    assert.ok(means.length > 10, `${event} says what it means`);
    assert.ok(level === 'info' || todo.length > 5, `${event} says what to do`);
  }
});

test('S428: a line of a running sidecar has its name', async (t) => {
  const folder = await temporaryFolder(t);
  const logger = new URL('../../src/observability/logger.js', import.meta.url).href;
  const script = `
    import { createLogger } from ${JSON.stringify(logger)};
    const log = await createLogger({ level: 'info', terminal: false });
    log.info({ grpc: 'a' }, 'listening');
    log.error({ partitions: [1] }, 'trouble with 1 partition of the cluster');
    log.warn({ event: 'settings_doubtful' }, 'stopped');
    log.warn({ event: 'mine' }, 'a text without a name');
    log.info('joined the cluster');
    log.info('a text without a name');`;
  const { stderr } = await shell('"$1" "$2"', process.execPath, await put(folder, 'log.mjs', script));
  const lines: readonly { readonly event?: string; readonly msg: string }[] = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    lines.map(({ event }) => event),
    ['listening', 'partitions_trouble', 'settings_doubtful', 'mine', 'cluster_joined', undefined],
  );
});
