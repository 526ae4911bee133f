/** Small changes of a program that a test should see, one at a time. They are made in the compiled text, which runs at once. */
import { parse } from '@babel/parser';

export interface Change {
  readonly kind: Kind;
  /** Where the text that goes begins and ends. */
  readonly start: number;
  readonly end: number;
  /** What stands there instead. */
  readonly text: string;
  /** Where what is changed begins: an operator is not executed by itself. */
  readonly at: number;
}

export type Kind = 'comparison' | 'arithmetic' | 'logic' | 'condition' | 'constant' | 'removed' | 'way out';

interface Syntax {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [part: string]: unknown;
}

type Maker = (node: Syntax, at: Place) => readonly Change[];

interface Place {
  readonly text: string;
  readonly above: Syntax | undefined;
  /** The condition of an `if` leads here: what leaves the function here leaves it early. */
  readonly conditional: boolean;
}

const COMPARED: Readonly<Record<string, readonly string[]>> = {
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
};

const COUNTED: Readonly<Record<string, string>> = { '+': '-', '-': '+', '*': '/', '/': '*', '%': '*', '&': '|' };
const ASSIGNED: Readonly<Record<string, string>> = { '+=': '-=', '-=': '+=' };
const JOINED: Readonly<Record<string, string>> = { '&&': '||', '||': '&&' };

/** What a program says to people when it gives up, and what it is made of, is not looked at. */
const PASSED_OVER: ReadonlySet<string> = new Set(['ThrowStatement', 'ImportDeclaration', 'ExportAllDeclaration']);

const MAKERS: Readonly<Record<string, Maker>> = {
  BinaryExpression: (node, at) => [
    ...(COMPARED[String(node['operator'])] ?? []).map((other) => between(node, at, 'comparison', other)),
    ...(isOfTexts(node) ? [] : instead(COUNTED, node, at, 'arithmetic')),
  ],
  LogicalExpression: (node, at) =>
    node['operator'] === '??'
      ? [replaced(node, 'logic', textOf(part(node, 'left'), at))]
      : instead(JOINED, node, at, 'logic'),
  AssignmentExpression: (node, at) => instead(ASSIGNED, node, at, 'arithmetic'),
  UpdateExpression: (node, at) => {
    const other = node['operator'] === '++' ? '--' : '++';
    const argument = textOf(part(node, 'argument'), at);
    return [replaced(node, 'arithmetic', node['prefix'] === true ? other + argument : argument + other)];
  },
  UnaryExpression: (node, at) =>
    node['operator'] === '!' || node['operator'] === '-'
      ? [replaced(node, 'logic', ` ${textOf(part(node, 'argument'), at)}`)]
      : [],
  BooleanLiteral: (node) => [replaced(node, 'constant', String(node['value'] !== true))],
  NumericLiteral: (node) => [replaced(node, 'constant', node['value'] === 0 ? '1' : `${Number(node['value']) - 1}`)],
  BigIntLiteral: (node) => [
    replaced(node, 'constant', node['value'] === '0' ? '1n' : `(${String(node['value'])}n - 1n)`),
  ],
  IfStatement: (node) => conditions(node, ['true', 'false']),
  ConditionalExpression: (node) => conditions(node, ['true', 'false']),
  // The other one would never end.
  WhileStatement: (node) => conditions(node, ['false']),
  ForStatement: (node) => conditions(node, ['false']),
  ExpressionStatement: (node) => {
    const expression = part(node, 'expression');
    const isOfSuper = part(expression, 'callee')?.type === 'Super';
    return expression === undefined || isOfSuper ? [] : [replaced(node, 'removed', ';')];
  },
  ReturnStatement: (node, at) => (at.conditional ? [replaced(node, 'way out', ';')] : []),
  ContinueStatement: (node, at) => (at.conditional ? [replaced(node, 'way out', ';')] : []),
  BreakStatement: (node, at) => (at.conditional ? [replaced(node, 'way out', ';')] : []),
};

/** @returns every change of the program, in the order of the text: the same for the same text */
export function changesOf(text: string): readonly Change[] {
  const changes: Change[] = [];
  const visit = (node: Syntax, place: Place): void => {
    if (PASSED_OVER.has(node.type)) return;
    changes.push(...(MAKERS[node.type]?.(node, place) ?? []));
    for (const below of partsOf(node))
      visit(below, { text, above: node, conditional: isConditional(below, node, place) });
  };
  const program: unknown = parse(text, { sourceType: 'module' }).program;
  if (isSyntax(program)) visit(program, { text, above: undefined, conditional: false });
  return changes.sort((one, other) => one.start - other.start || one.end - other.end);
}

export function changed(text: string, change: Change): string {
  return text.slice(0, change.start) + change.text + text.slice(change.end);
}

/** @returns the line where a change stands, before and after; of what has several lines all, in one */
export function inLine(text: string, change: Change): { readonly before: string; readonly after: string } {
  const from = text.lastIndexOf('\n', change.start - 1) + 1;
  const first = endOfLine(text, change.end);
  // What depends on a condition stands below it, if it has no block.
  const to = /\b(if|for|while) \(.*\)$/s.test(text.slice(from, first)) ? endOfLine(text, first + 1) : first;
  const inOne = (line: string) => line.replaceAll(/\s+/g, ' ').trim();
  return {
    before: inOne(text.slice(from, to)),
    after: inOne(text.slice(from, change.start) + change.text + text.slice(change.end, to)),
  };
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end === -1 ? text.length : end;
}

/** Of an `if` and of the block that is all of its branch; what stands in a function inside leaves only that. */
function isConditional(node: Syntax, above: Syntax, place: Place): boolean {
  if (above.type === 'IfStatement') return node !== above['test'];
  return above.type === 'BlockStatement' && place.above?.type === 'IfStatement';
}

function replaced(node: Syntax, kind: Kind, text: string): Change {
  return { kind, start: node.start, end: node.end, text, at: node.start };
}

function conditions(node: Syntax, values: readonly string[]): readonly Change[] {
  const test = part(node, 'test');
  return test === undefined ? [] : values.map((value) => ({ ...replaced(test, 'condition', value), at: node.start }));
}

function instead(others: Readonly<Record<string, string>>, node: Syntax, at: Place, kind: Kind): readonly Change[] {
  const other = others[String(node['operator'])];
  return other === undefined ? [] : [between(node, at, kind, other)];
}

/** Another operator between the two sides of an expression. Parentheses between them stay. */
function between(node: Syntax, at: Place, kind: Kind, other: string): Change {
  const left = part(node, 'left');
  const right = part(node, 'right');
  const operator = String(node['operator']);
  const start = at.text.indexOf(operator, left?.end);
  if (start === -1 || right === undefined || start >= right.start)
    throw new Error(`no ${operator} in ${textOf(node, at)}`);
  return { kind, start, end: start + operator.length, text: other, at: node.start };
}

function isOfTexts(node: Syntax): boolean {
  const isText = (side: Syntax | undefined): boolean =>
    side?.type === 'StringLiteral' ||
    side?.type === 'TemplateLiteral' ||
    (side?.type === 'BinaryExpression' && isOfTexts(side));
  return isText(part(node, 'left')) || isText(part(node, 'right'));
}

function textOf(node: Syntax | undefined, { text }: Place): string {
  return node === undefined ? '' : text.slice(node.start, node.end);
}

function part(node: Syntax | undefined, name: string): Syntax | undefined {
  const below = node?.[name];
  return isSyntax(below) ? below : undefined;
}

function partsOf(node: Syntax): readonly Syntax[] {
  return Object.values(node).flat().filter(isSyntax);
}

function isSyntax(value: unknown): value is Syntax {
  return (
    typeof value === 'object' &&
    value !== null &&
    'type' in value &&
    typeof value.type === 'string' &&
    !value.type.startsWith('Comment') &&
    'start' in value &&
    typeof value.start === 'number' &&
    'end' in value &&
    typeof value.end === 'number'
  );
}
