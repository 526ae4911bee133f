/** The rules that an operator gives to Prometheus, and their unit tests, as they stand in deploy/prometheus. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from '../project/repository.js';

export const RULES_FOLDER = join(ROOT, 'deploy', 'prometheus');

export interface Alert {
  readonly name: string;
  readonly expr: string;
  readonly for: string | undefined;
  readonly keepFiringFor: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface Recording {
  readonly name: string;
  readonly expr: string;
}

export interface UnitTest {
  readonly name: string;
  readonly checks: readonly { readonly alert: string; readonly fires: boolean }[];
}

function files(suffix: string): readonly string[] {
  return readdirSync(RULES_FOLDER)
    .filter((name) => name.endsWith(suffix))
    .sort()
    .map((name) => join(RULES_FOLDER, name));
}

export const RULE_FILES = files('.rules.yaml');
export const TEST_FILES = files('.test.yaml');

/** Of our own files: what is not there is a mistake in them. */
type Fields = Readonly<Record<string, unknown>>;

function rules(): readonly Fields[] {
  return RULE_FILES.flatMap((path) => list(read(path)['groups']).flatMap((group) => list(group['rules'])));
}

export function alerts(): readonly Alert[] {
  return rules()
    .filter((rule) => 'alert' in rule)
    .map((rule) => ({
      name: String(rule['alert']),
      expr: String(rule['expr']),
      for: optional(rule['for']),
      keepFiringFor: optional(rule['keep_firing_for']),
      labels: texts(rule['labels']),
      annotations: texts(rule['annotations']),
    }));
}

export function recordings(): readonly Recording[] {
  return rules()
    .filter((rule) => 'record' in rule)
    .map((rule) => ({ name: String(rule['record']), expr: String(rule['expr']) }));
}

export function unitTests(): readonly UnitTest[] {
  return TEST_FILES.flatMap((path) =>
    list(read(path)['tests']).map((test) => ({
      name: String(test['name']),
      checks: list(test['alert_rule_test']).map((check) => ({
        alert: String(check['alertname']),
        fires: list(check['exp_alerts']).length > 0,
      })),
    })),
  );
}

function read(path: string): Fields {
  return fields(parse(readFileSync(path, 'utf8')));
}

function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function list(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fields) : [];
}

function optional(value: unknown): string | undefined {
  return value === undefined ? undefined : String(value);
}

function texts(value: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(fields(value)).map(([name, text]) => [name, String(text)]));
}
