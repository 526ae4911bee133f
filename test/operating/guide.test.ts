/** The way of docs/OPERATING.md from a sidecar to alerts, walked as it stands. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { put, temporaryFolder } from '../cli/keyturn-process.js';
import { ROOT, read } from '../project/repository.js';
import { needs, pathOf } from '../support/needed-program.js';
import { PROMTOOL } from './prometheus-programs.js';

const [, part = ''] = read('docs/OPERATING.md').text.split('### In ten minutes\n');
const [guide = ''] = part.split('### Alerts\n');

test(
  'the configuration that the guide prints is one that Prometheus takes, with the rules',
  needs([PROMTOOL]),
  async (t) => {
    const folder = await temporaryFolder(t);
    const [configuration = ''] = blocks('yaml');
    const config = await put(folder, 'prometheus.yml', configuration);
    const rules = join(folder, 'keyturn');
    mkdirSync(rules);
    // What the guide copies, without sudo and into this folder.
    const copy = commands().find((line) => line.includes(' cp ')) ?? assert.fail('nothing is copied');
    execFileSync('sh', ['-c', copy.replace('sudo ', '').replace('/etc/prometheus', folder)], { cwd: ROOT });
    const { status, stdout, stderr } = spawnSync(pathOf(PROMTOOL), ['check', 'config', config], { encoding: 'utf8' });
    assert.equal(status, 0, stdout + stderr);
    assert.match(stdout, /SUCCESS: 19 rules found/);
  },
);

test('it names what there is: the folders, the script, the port', () => {
  for (const path of ['deploy/prometheus', 'deploy/grafana']) {
    assert.ok(guide.includes(`${path}/`), path);
    assert.ok(existsSync(join(ROOT, path)), path);
  }
  const scripts = read('package.json').text;
  for (const [, name = ''] of read('docs/OPERATING.md').text.matchAll(/`npm run ([a-z:]+)/g))
    assert.ok(scripts.includes(`"${name}":`), name);
  assert.ok(commands().includes('curl http://127.0.0.1:7421/metrics'));
});

function blocks(language: string): readonly string[] {
  const fences = new RegExp(`^ *\`\`\`${language}\\n([\\s\\S]*?)^ *\`\`\`$`, 'gm');
  return [...guide.matchAll(fences)].map(([, code = '']) => code.replace(/^ {3}/gm, ''));
}

function commands(): readonly string[] {
  return blocks('sh').flatMap((block) => block.trim().split('\n'));
}
