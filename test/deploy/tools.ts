/** The programs that people give our manifests to, and what they make of them. */
import { execFile } from 'node:child_process';
import { readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { ROOT } from '../project/repository.js';
import { find, type NeededProgram, pathOf } from '../support/needed-program.js';
import { ENVIRONMENT, KeptProgram, type Said } from './kept-program.js';

const GO = 'With Go 1.22 or newer: .ci/go-programs puts it into .cache/bin.';

export const HELM: NeededProgram = { name: 'helm', places: [join(ROOT, '.cache/bin/helm')], install: GO };
export const KUSTOMIZE: NeededProgram = {
  name: 'kustomize',
  places: [join(ROOT, '.cache/bin/kustomize')],
  install: GO,
};
export const VALIDATE: NeededProgram = {
  name: 'kubernetes-validate',
  places: [join(ROOT, '.cache/kubernetes-validate/bin/kubernetes-validate')],
  install: 'With Python 3.10 or newer: .ci/python-programs puts it into .cache.',
};
export const PROMTOOL: NeededProgram = { name: 'promtool', install: 'Install it with: apt-get install prometheus.' };

export const CHART = join(ROOT, 'deploy/helm/keyturn');
export const COMPONENT = join(ROOT, 'deploy/kustomize/sidecar');

/** The oldest that the manifests are for, the one that most have, the newest that the validator knows. */
const KUBERNETES = ['1.29', '1.33', '1.37'];

/** The same commands, many in one process (`programs/`). Where one is missing each command is a process of its own. */
export const HELM_LINES: NeededProgram = {
  name: 'helm-lines',
  places: [join(ROOT, '.cache/bin/helm-lines')],
  install: GO,
};
const PROGRAMS = join(ROOT, 'test/deploy/programs');

const kept = new Map<NeededProgram, KeptProgram>();
const helmLines = find(HELM_LINES);
if ('path' in helmLines) kept.set(HELM, new KeptProgram(helmLines.path));
const validate = find(VALIDATE);
if ('path' in validate) {
  // The Python that has its packages stands beside it.
  const python = join(dirname(realpathSync(validate.path)), 'python');
  kept.set(VALIDATE, new KeptProgram(python, [join(PROGRAMS, 'validate-lines.py')]));
}

/** Many commands of a program share a process where it has a form for that. */
export function run(program: NeededProgram, args: readonly string[]): Promise<Said> {
  return kept.get(program)?.run(args) ?? runAlone(program, args);
}

/** In a process of its own. */
export function runAlone(program: NeededProgram, args: readonly string[]): Promise<Said> {
  return new Promise((resolve) => {
    execFile(pathOf(program), args, { env: ENVIRONMENT, maxBuffer: 64 * 1_048_576 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ code, stdout, stderr });
    });
  });
}

/** @throws with what the program complained of */
export async function output(program: NeededProgram, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(program, args);
  if (code !== 0) throw new Error(`${program.name} ${args.join(' ')} ended with ${code}: ${stderr}${stdout}`);
  return stdout;
}

/** A parsed manifest: what is looked up in it may not be there. */
export type Manifest = Readonly<Record<string, unknown>>;

/** As Kubernetes reads YAML. */
export function manifests(text: string): readonly Manifest[] {
  return parseAllDocuments(text, { version: '1.1' }).flatMap((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    const value: unknown = document.toJS();
    return isManifest(value) ? [value] : [];
  });
}

function isManifest(value: unknown): value is Manifest {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What stands there: `at(pod, 'spec', 'containers', 0, 'name')`. Unset: nothing does. */
export function at(from: unknown, ...path: readonly (string | number)[]): unknown {
  let value = from;
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Object.entries(value).find(([name]) => name === String(step))?.[1];
  }
  return value;
}

export function ofKind(all: readonly Manifest[], kind: string, name?: string): Manifest {
  const found = all.filter(
    (one) => one['kind'] === kind && (name === undefined || at(one, 'metadata', 'name') === name),
  );
  const [only] = found;
  if (only === undefined || found.length > 1) throw new Error(`${found.length} of the kind ${kind}, not one`);
  return only;
}

export function list(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new TypeError(`not a list: ${JSON.stringify(value)}`);
  return value;
}

/** What the chart makes of values. */
export function template(release: string, ...args: readonly string[]): Promise<string> {
  return output(HELM, ['template', release, CHART, '--namespace', 'prod', ...args]);
}

export const valuesFile = (name: string) => join(ROOT, 'test/deploy/values', name);

/** What brings the pod of a release into being. */
export function workload(all: readonly Manifest[]): Manifest {
  return ofKind(all, all.some(({ kind }) => kind === 'Deployment') ? 'Deployment' : 'StatefulSet');
}

export const podOf = (all: readonly Manifest[]) => at(workload(all), 'spec', 'template', 'spec');
export const containerOf = (all: readonly Manifest[]) => at(podOf(all), 'containers', 0);

/** Its variables, those too that Kubernetes brings: the address in a Secret, the address of the pod. */
export function variablesOf(container: unknown): Readonly<Record<string, string>> {
  const textOf = (one: unknown): string => {
    if (at(one, 'valueFrom', 'secretKeyRef') !== undefined) return 'redis://:secret@redis:6379/1';
    if (at(one, 'valueFrom', 'fieldRef', 'fieldPath') === 'status.podIP') return '10.1.2.3';
    const value = at(one, 'value');
    if (typeof value !== 'string') throw new TypeError(`no value: ${JSON.stringify(one)}`);
    return value;
  };
  return Object.fromEntries(list(at(container, 'env')).map((one) => [String(at(one, 'name')), textOf(one)]));
}

export async function folderFor(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'keyturn-deploy-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** What the versions of Kubernetes say against it, unknown fields too; kinds of others are not among their schemas. */
export async function complaints(t: TestContext, text: string): Promise<readonly string[]> {
  const file = join(await folderFor(t), 'manifests.yaml');
  await writeFile(file, text);
  const versions = KUBERNETES.flatMap((version) => ['-k', version]);
  const { code, stdout, stderr } = await run(VALIDATE, ['--strict', '--no-warn', '--quiet', ...versions, file]);
  if (code === 0) return [];
  return `${stdout}${stderr}`.trim().split('\n');
}

/**
 * What was rendered when somebody last looked at it. After a change that is meant: `KEYTURN_GOLDEN=write`, and look at
 * the difference.
 */
export function golden(name: string, rendered: string): string {
  const path = join(ROOT, 'test/deploy/golden', name);
  if (process.env['KEYTURN_GOLDEN'] === 'write') writeFileSync(path, rendered);
  return readFileSync(path, 'utf8');
}
