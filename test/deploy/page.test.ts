/** What docs/KUBERNETES.md shows works as it stands: each block is given to the program that it is for. */
import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { command } from '../cli/in-process.js';
import { yamlFile } from '../config/yaml-file.js';
import { read } from '../project/repository.js';
import { needs } from '../support/needed-program.js';
import {
  at,
  CHART,
  COMPONENT,
  complaints,
  folderFor,
  HELM,
  KUSTOMIZE,
  manifests,
  ofKind,
  output,
  PROMTOOL,
  run,
  VALIDATE,
} from './tools.js';

const page = read('docs/KUBERNETES.md').text;
const BLOCK = /^```yaml\n# ([\w.-]+)\n([\s\S]*?)^```$/gm;

/** The blocks that begin with the name of this file. */
function blocks(name: string): readonly string[] {
  return [...page.matchAll(BLOCK)].flatMap(([, file, text = '']) => (file === name ? [text] : []));
}

const [deployment = '', job = ''] = blocks('worker.yaml');

async function build(t: TestContext, kustomization: string, worker: string): Promise<string> {
  const folder = await folderFor(t);
  mkdirSync(join(folder, 'deploy/kustomize'), { recursive: true });
  cpSync(COMPONENT, join(folder, 'deploy/kustomize/sidecar'), { recursive: true });
  writeFileSync(join(folder, 'kustomization.yaml'), kustomization);
  writeFileSync(join(folder, 'worker.yaml'), worker);
  const { code, stdout, stderr } = await run(KUSTOMIZE, ['build', folder]);
  equal(stderr, '');
  equal(code, 0);
  return stdout;
}

describe('the page on Kubernetes', needs([HELM, KUSTOMIZE, PROMTOOL, VALIDATE]), () => {
  it('has nothing that no program is given', () => {
    const known = /^(kustomization|worker|values|restore|podmonitor)\.yaml$|^prometheus\.yml$/;
    const names = [...page.matchAll(/^```yaml\n(.*)\n/gm)].map(([, first = '']) => first.replace(/^# /, ''));
    ok(names.length >= 10);
    for (const name of names) match(name, known);
  });

  for (const [index, kustomization] of blocks('kustomization.yaml').entries()) {
    it(`shows a kustomization that builds what Kubernetes takes: ${index + 1}`, async (t) => {
      const built = await build(t, kustomization, deployment);
      deepEqual(await complaints(t, built), []);
      const all = manifests(built);
      const sidecar = at(ofKind(all, 'Deployment'), 'spec', 'template', 'spec', 'initContainers', 0);
      equal(at(sidecar, 'name'), 'keyturn');
      const settings = String(at(ofKind(all, 'ConfigMap'), 'data', 'keyturn.yaml'));
      equal((await command(['serve', '--config', yamlFile(t, settings), '--check-config'])).exitCode, 0);
    });
  }

  it('shows a Job that is given a sidecar', async (t) => {
    const built = await build(t, blocks('kustomization.yaml')[0] ?? '', job);
    deepEqual(await complaints(t, built), []);
    const pod = at(ofKind(manifests(built), 'Job'), 'spec', 'template', 'spec');
    equal(at(pod, 'initContainers', 0, 'restartPolicy'), 'Always');
  });

  for (const [index, shown] of blocks('values.yaml').entries()) {
    it(`shows values that the chart takes: ${index + 1}`, (t) => takes(t, shown));
  }

  const takes = async (t: TestContext, shown: string): Promise<void> => {
    const file = yamlFile(t, shown);
    const rendered = await output(HELM, ['template', 'keyturn', CHART, '--namespace', 'prod', '--values', file]);
    deepEqual(await complaints(t, rendered), []);
    equal(at(ofKind(manifests(rendered), 'Service'), 'metadata', 'name'), 'keyturn');
  };

  it('shows a scrape configuration that Prometheus takes', async (t) => {
    const text = blocks('prometheus.yml')[0] ?? '';
    // Debian's Prometheus is built without the discovery of Kubernetes: the rest of the job is checked.
    const discovery = /kubernetes_sd_configs:\n( +)- role: pod\n/;
    match(text, discovery);
    const file = yamlFile(t, text.replace(discovery, "static_configs:\n$1- targets: ['127.0.0.1:7421']\n"));
    match(await output(PROMTOOL, ['check', 'config', file]), /SUCCESS/);
  });

  it('shows a job that puts a copy in place of the data, once', async (t) => {
    const [text = ''] = blocks('restore.yaml');
    deepEqual(await complaints(t, text), []);
    const [restore] = manifests(text);
    const [program, ...args] = commandOf(restore);
    equal(program, 'node');
    const volume = await folderFor(t);
    mkdirSync(join(volume, 'data'));
    mkdirSync(join(volume, 'before'));
    writeFileSync(join(volume, 'before/data.mdb'), 'of before');
    const restoreNow = () => execFileSync(process.execPath, args, { cwd: volume, stdio: 'pipe' });
    restoreNow();
    deepEqual(readdirSync(volume).sort(), ['data', 'newer']);
    deepEqual(readdirSync(join(volume, 'data')), ['data.mdb']);
    // A second time there is no copy: what is there stays.
    let refused = false;
    try {
      restoreNow();
    } catch {
      refused = true;
    }
    equal(refused, true);
    deepEqual(readdirSync(volume).sort(), ['data', 'newer']);
  });

  it('names the volume claim, pod and user of the chart', async () => {
    const all = manifests(await output(HELM, ['template', 'keyturn', CHART]));
    const set = ofKind(all, 'StatefulSet');
    const claim = `${at(set, 'spec', 'volumeClaimTemplates', 0, 'metadata', 'name')}-${at(set, 'metadata', 'name')}-0`;
    const [restore] = manifests(blocks('restore.yaml')[0] ?? '');
    const pod = at(restore, 'spec', 'template', 'spec');
    equal(at(pod, 'volumes', 0, 'persistentVolumeClaim', 'claimName'), claim);
    equal(at(pod, 'securityContext', 'runAsUser'), at(set, 'spec', 'template', 'spec', 'securityContext', 'runAsUser'));
    ok(page.includes(`kubectl edit pvc ${claim}`));
  });
});

function commandOf(restore: unknown): readonly string[] {
  const command = at(restore, 'spec', 'template', 'spec', 'containers', 0, 'command');
  if (!Array.isArray(command)) throw new TypeError('no command');
  return command.map(String);
}
