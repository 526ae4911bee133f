/** What a source file imports and which words it uses; comments and the insides of strings do not count. */
import { parse } from '@babel/parser';

export interface Import {
  readonly specifier: string;
  readonly line: number;
  /** Gone at run time: the whole declaration is `import type` or `export type`. */
  readonly typeOnly: boolean;
}

export interface Word {
  readonly text: string;
  readonly line: number;
}

export interface SourceWords {
  readonly imports: readonly Import[];
  readonly words: readonly Word[];
  /** Lines where the type `any` stands. */
  readonly anys: readonly number[];
}

/** By path and text: several checks ask about the same files, and to parse all of them takes seconds. */
const known = new Map<string, SourceWords>();

/** @param path says whether there are elements in it (`.tsx`) */
export function sourceWords(text: string, path = ''): SourceWords {
  const name = `${path}\n${text}`;
  const found = known.get(name) ?? wordsIn(text, path);
  known.set(name, found);
  return found;
}

function wordsIn(text: string, path: string): SourceWords {
  const file = parse(text, { sourceType: 'module', plugins: pluginsFor(path), tokens: true });
  const tokens = (file.tokens ?? []).filter(isToken).filter(({ type }) => typeof type !== 'string');
  const words = wordsOf(tokens);
  const anys: number[] = [];
  // Most files need no walk through their trees.
  if (words.some((word) => word.text === 'any')) findAnys(file.program, anys);
  return { imports: [...declared(file.program.body), ...called(tokens)], words, anys };
}

/** Of the parser, for a file. */
export function pluginsFor(path: string): ('typescript' | 'jsx')[] {
  return path.endsWith('.tsx') ? ['typescript', 'jsx'] : ['typescript'];
}

type Statement = ReturnType<typeof parse>['program']['body'][number];

function declared(statements: readonly Statement[]): Import[] {
  const imports: Import[] = [];
  for (const statement of statements) {
    const line = statement.loc?.start.line ?? 0;
    if (statement.type === 'ImportDeclaration') {
      imports.push({ specifier: statement.source.value, line, typeOnly: statement.importKind === 'type' });
    } else if (statement.type === 'ExportNamedDeclaration' || statement.type === 'ExportAllDeclaration') {
      const specifier = statement.source?.value;
      if (specifier !== undefined) imports.push({ specifier, line, typeOnly: statement.exportKind === 'type' });
    }
  }
  return imports;
}

/** `import('…')`, as an expression or as a type. The two are not told apart: both count as needed at run time. */
function called(tokens: readonly Token[]): Import[] {
  return tokens.flatMap((token, at) => {
    const argument = tokens[at + 2];
    if (textOf(token) !== 'import' || textOf(tokens[at + 1]) !== '(' || argument === undefined) return [];
    return [{ specifier: String(argument.value), line: token.loc.start.line, typeOnly: false }];
  });
}

function wordsOf(tokens: readonly Token[]): Word[] {
  return tokens.flatMap((token) => {
    if (isQuoted(token) || typeof token.value !== 'string') return [];
    return [{ text: token.value, line: token.loc.start.line }];
  });
}

/** By the tree, not by the word: a function may be called `any`. */
function findAnys(node: unknown, lines: number[]): void {
  if (typeof node !== 'object' || node === null) return;
  if ('type' in node && node.type === 'TSAnyKeyword' && isPlaced(node)) lines.push(node.loc.start.line);
  else for (const part of Object.values(node)) findAnys(part, lines);
}

interface Placed {
  readonly loc: { readonly start: { readonly line: number } };
}

/** Whatever the parser makes has a place. */
function isPlaced(node: object): node is Placed {
  return 'loc' in node;
}

interface Token extends Placed {
  /** A string: a comment. */
  readonly type: string | { readonly label: string };
  readonly value: unknown;
}

/** The parser's own types leave its tokens open. */
function isToken(token: unknown): token is Token {
  return typeof token === 'object' && token !== null && 'type' in token && 'value' in token && 'loc' in token;
}

function isQuoted({ type }: Token): boolean {
  return typeof type !== 'string' && ['string', 'template', 'regexp'].includes(type.label);
}

function textOf(token: Token | undefined): string {
  if (token === undefined || typeof token.type === 'string') return '';
  return typeof token.value === 'string' && !isQuoted(token) ? token.value : token.type.label;
}
