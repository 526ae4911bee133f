/** What a file exports, and who imports it by its name. */
import { posix } from 'node:path';
import { parse } from '@babel/parser';
import type { TextFile } from './repository.js';
import { pluginsFor } from './source-words.js';

/** Everything of a file is imported: `* as`, `export *`, or `import('…')`. */
const ALL = '*';

interface Exported {
  readonly name: string;
  readonly line: number;
  /** Nothing of it is there at run time. */
  readonly isType: boolean;
}

interface Names {
  readonly exported: readonly Exported[];
  /** Of other files of the project, by their path. */
  readonly imported: readonly (readonly [path: string, name: string])[];
}

export interface Exporting {
  readonly files: readonly TextFile[];
  /** What they import is there for them alone, unless it is a type: a test may call by its name what it hands over. */
  readonly tests: readonly TextFile[];
  /** Files whose exports are for strangers. */
  readonly entries: ReadonlySet<string>;
  /** Values that are there for tests all the same, as `path name`, each with its reason. */
  readonly forTests: Readonly<Record<string, string>>;
}

/** @returns exports of `files` that none of the other files imports, one sentence each */
export function unusedExports({ files, tests, entries, forTests }: Exporting): readonly string[] {
  const names = files.map((file) => ({ file, ...namesOf(file) }));
  const used = new Set(names.flatMap(({ imported }) => imported.map(([path, name]) => `${path} ${name}`)));
  const found: string[] = [];
  const left = new Set(Object.keys(forTests));
  for (const { file, exported } of names) {
    // Nobody who imports a file says whether there are elements in it.
    const path = file.path.replace(/\.tsx$/, '.ts');
    if (entries.has(path) || used.has(`${path} ${ALL}`)) continue;
    for (const { name, line, isType } of exported) {
      if (used.has(`${path} ${name}`)) continue;
      const isKept = (isType || left.has(`${path} ${name}`)) && tests.some((test) => imports(test, path, name));
      left.delete(isKept ? `${path} ${name}` : '');
      if (!isKept) found.push(`${path}:${line}: ${name} is exported, and nothing but tests imports it`);
    }
  }
  return [...found, ...[...left].map((id) => `${id}: is in the table of what is there for tests, and need not be`)];
}

function imports(file: TextFile, path: string, name: string): boolean {
  // To read them all would take longer than everything else here.
  if (!file.text.includes(name)) return false;
  return namesOf(file).imported.some(([target, one]) => target === path && (one === name || one === ALL));
}

function namesOf({ path, text }: TextFile): Names {
  const exported: Exported[] = [];
  const imported: (readonly [string, string])[] = [];
  const from = (specifier: string, names: readonly string[]): void => {
    const target = targetOf(path, specifier);
    if (target !== undefined) for (const name of names) imported.push([target, name]);
  };
  for (const statement of parse(text, { sourceType: 'module', plugins: pluginsFor(path) }).program.body) {
    if (statement.type === 'ImportDeclaration') {
      from(
        statement.source.value,
        statement.specifiers.map((one) => (one.type === 'ImportSpecifier' ? nameOf(one.imported) : ALL)),
      );
    } else if (statement.type === 'ExportAllDeclaration') {
      from(statement.source.value, [ALL]);
    } else if (statement.type === 'ExportNamedDeclaration') {
      const isType = statement.exportKind === 'type';
      const line = statement.loc?.start.line ?? 0;
      const names = statement.specifiers.flatMap((one) => (one.type === 'ExportSpecifier' ? [nameOf(one.local)] : []));
      if (statement.source) from(statement.source.value, names);
      for (const name of [...names, ...declaredBy(statement.declaration)]) exported.push({ name, line, isType });
    }
  }
  for (const [, specifier] of text.matchAll(/\bimport\('([^']+)'\)/g)) from(specifier ?? '', [ALL]);
  return { exported, imported };
}

/** Of packages nothing is looked at but the insides of the client, by the name that the root's package.json has for tests. */
function targetOf(path: string, specifier: string): string | undefined {
  if (specifier.startsWith('#client/')) return `clients/typescript/src/${specifier.slice('#client/'.length)}.ts`;
  if (!specifier.startsWith('.')) return undefined;
  return posix.join(posix.dirname(path), specifier).replace(/\.js$/, '.ts');
}

type Declaration = Extract<
  ReturnType<typeof parse>['program']['body'][number],
  { type: 'ExportNamedDeclaration' }
>['declaration'];

function declaredBy(declaration: Declaration): readonly string[] {
  if (!declaration) return [];
  if (declaration.type === 'VariableDeclaration')
    return declaration.declarations.flatMap(({ id }) => (id.type === 'Identifier' ? [id.name] : []));
  return 'id' in declaration && declaration.id?.type === 'Identifier' ? [declaration.id.name] : [];
}

function nameOf(node: { readonly type: string; readonly name?: string; readonly value?: string }): string {
  return node.name ?? node.value ?? '';
}
