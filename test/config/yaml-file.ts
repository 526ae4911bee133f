/** A YAML file for one test. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Config, type Environment, type Flags, loadConfig } from '../../src/config/config.js';
import { ConfigError } from '../../src/config/problem.js';

export function yamlFile(t: Pick<TestContext, 'after'>, text: string | Uint8Array): string {
  const directory = mkdtempSync(join(tmpdir(), 'keyturn-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const path = join(directory, 'keyturn.yaml');
  writeFileSync(path, text);
  return path;
}

export function load(t: TestContext, text: string, flags: Flags = {}, env: Environment = {}): Config {
  return loadConfig({ ...flags, config: yamlFile(t, text) }, env);
}

/** Each problem as `setting (place): what`, the place without the directory. */
export function problemsOf(load: () => unknown): readonly string[] {
  try {
    load();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(({ setting, place, what }) => `${setting} (${place.replace(/.*\//, '')}): ${what}`);
  }
  return [];
}

export function problemsIn(t: TestContext, text: string): readonly string[] {
  const config = yamlFile(t, text);
  return problemsOf(() => loadConfig({ config }, {}));
}
