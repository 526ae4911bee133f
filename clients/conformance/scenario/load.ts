/** Reads scenario files, strictly: a word that is not known would be a check that is not made. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument } from 'yaml';
import { type Fields, isFields } from '../fields.js';
import type { Scenario, SidecarPlan, Step } from './model.js';
import { OPEN } from './ops.js';
import { anything, fields, flag, listOf, mapOf, type Path, text, word } from './shapes.js';
import { steps as stepsShape, verbOf } from './verbs.js';

/** What is wrong with scenario files, a line each. */
export class WrongScenarios extends Error {
  override readonly name = 'WrongScenarios';
}

const LARGEST_FILE = 1_048_576;

const SIDECAR = fields({ listen: word('tcp', 'unix'), data: flag, settings: mapOf(anything) });
const SCENARIO = fields(
  {
    name: text,
    contract: text,
    sidecar: SIDECAR,
    files: mapOf(text),
    proxy: flag,
    certificates: flag,
    cluster: flag,
    mixed: flag,
    players: listOf(text),
    clients: mapOf(fields({ ...OPEN, player: text, through: word('proxy', 'sidecar') })),
    steps: stepsShape,
  },
  ['name', 'contract', 'steps'],
);
const FILE = fields({ about: text, scenarios: listOf(SCENARIO) }, ['about', 'scenarios']);

/** @throws WrongScenarios */
export function loadFolder(folder: string): readonly Scenario[] {
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.yaml'))
    .sort();
  const wrong: string[] = [];
  const scenarios = files.flatMap((file) => {
    try {
      return loadText(basename(file, '.yaml'), readFileSync(join(folder, file), 'utf8'));
    } catch (error) {
      if (!(error instanceof WrongScenarios)) throw error;
      wrong.push(error.message);
      return [];
    }
  });
  if (files.length === 0) wrong.push(`${folder} has no scenario files`);
  if (wrong.length > 0) throw new WrongScenarios(wrong.join('\n'));
  return scenarios;
}

/** @throws WrongScenarios, which names file, line, place and what is allowed */
export function loadText(file: string, source: string): readonly Scenario[] {
  if (source.length > LARGEST_FILE) throw new WrongScenarios(`${file}.yaml: at most ${LARGEST_FILE} characters`);
  const lines = new LineCounter();
  const document = parseDocument(source, { lineCounter: lines, version: '1.2', uniqueKeys: true });
  const wrong = [...document.errors, ...document.warnings].map(({ message }) => `${file}.yaml: ${message}`);
  if (wrong.length > 0) throw new WrongScenarios(wrong.join('\n'));
  const place: Placed = { file, document, lines };
  const content: unknown = document.toJS();
  FILE(content, [], (path, what) => wrong.push(`${where(place, path)}: ${what}`));
  if (wrong.length > 0) throw new WrongScenarios(wrong.join('\n'));
  return scenariosOf(content, place);
}

interface Placed {
  readonly file: string;
  readonly document: Document;
  readonly lines: LineCounter;
}

function where(place: Placed, path: Path): string {
  return `${place.file}.yaml:${lineOf(place, path)}: ${path.join('.')}`;
}

/** Of the key that the path leads to, else of what holds it. */
function lineOf(place: Placed, path: Path): number {
  for (let length = path.length; length >= 0; length -= 1) {
    const offset = offsetOf(place.document, path.slice(0, length));
    if (offset !== undefined) return place.lines.linePos(offset).line;
  }
  return 1;
}

function offsetOf(document: Document, path: Path): number | undefined {
  const parent: unknown = path.length === 0 ? document.contents : document.getIn(path.slice(0, -1), true);
  const last = path.at(-1);
  if (isMap(parent)) {
    const pair = parent.items.find(({ key }) => isScalar(key) && key.value === last);
    if (pair !== undefined && isScalar(pair.key)) return pair.key.range?.[0];
  }
  const node: unknown = document.getIn(path, true);
  return isNode(node) ? node.range?.[0] : undefined;
}

/** What was checked above, taken apart. */
function scenariosOf(content: unknown, place: Placed): readonly Scenario[] {
  const all = isFields(content) && Array.isArray(content['scenarios']) ? content['scenarios'].filter(isFields) : [];
  const seen = new Set<unknown>();
  return all.map((scenario, at) => {
    const name = String(scenario['name']);
    const path = ['scenarios', at];
    if (seen.has(name)) throw new WrongScenarios(`${where(place, path)}: ${name} is there twice`);
    seen.add(name);
    return scenarioOf(scenario, name, place, path);
  });
}

function scenarioOf(scenario: Fields, name: string, place: Placed, path: Path): Scenario {
  const players = Array.isArray(scenario['players']) ? scenario['players'].map(String) : ['main'];
  const clients = isFields(scenario['clients']) ? scenario['clients'] : { a: {} };
  return {
    id: `${place.file}: ${name}`,
    file: place.file,
    name,
    contract: String(scenario['contract']),
    sidecar: sidecarPlan(scenario['sidecar']),
    files: isFields(scenario['files']) ? textsOf(scenario['files']) : {},
    proxy: scenario['proxy'] === true,
    certificates: scenario['certificates'] === true,
    cluster: scenario['cluster'] === true,
    mixed: scenario['mixed'] === true,
    players,
    clients: Object.fromEntries(Object.entries(clients).map(([client, open]) => [client, isFields(open) ? open : {}])),
    steps: stepsOf(scenario['steps'], place, [...path, 'steps']),
  };
}

function textsOf(files: Fields): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(files).map(([name, text]) => [name, String(text)]));
}

function sidecarPlan(plan: unknown): SidecarPlan {
  const { listen, data, settings } = isFields(plan) ? plan : {};
  return {
    settings: isFields(settings) ? settings : {},
    listen: listen === 'unix' ? 'unix' : 'tcp',
    data: data === true,
  };
}

function stepsOf(steps: unknown, place: Placed, path: Path): readonly Step[] {
  if (!Array.isArray(steps)) return [];
  return steps.filter(isFields).map((step, at) => {
    const verb = verbOf(step) ?? '';
    const { [verb]: body, ...words } = step;
    const line = lineOf(place, [...path, at]);
    if (verb === 'one_refuses') return { verb, body: stepsOf(body, place, [...path, at, verb]), words, line };
    if (verb !== 'repeat' || !isFields(body)) return { verb, body, words, line };
    const inner = stepsOf(body['steps'], place, [...path, at, verb, 'steps']);
    return { verb, body: { ...body, steps: inner }, words, line };
  });
}
