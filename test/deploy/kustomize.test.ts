/** The component puts a sidecar into the pods that ask for one, as it should stand there. */
import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { parse } from 'yaml';
import { command } from '../cli/in-process.js';
import { yamlFile } from '../config/yaml-file.js';
import { read } from '../project/repository.js';
import { needs } from '../support/needed-program.js';
import {
  at,
  COMPONENT,
  complaints,
  folderFor,
  golden,
  KUSTOMIZE,
  list,
  manifests,
  ofKind,
  run,
  VALIDATE,
} from './tools.js';

const WANTED = { 'keyturn.io/sidecar': 'true' };
const worker = { containers: [{ name: 'worker', image: 'worker:1' }] };
const template = { metadata: { labels: { app: 'worker' } }, spec: worker };
const selector = { matchLabels: { app: 'worker' } };

/** One of each kind that has pods, and one that asked for nothing. */
const WORKLOADS = [
  { apiVersion: 'apps/v1', kind: 'Deployment', spec: { selector, template } },
  { apiVersion: 'apps/v1', kind: 'StatefulSet', spec: { selector, template, serviceName: 'worker' } },
  { apiVersion: 'apps/v1', kind: 'DaemonSet', spec: { selector, template } },
  { apiVersion: 'batch/v1', kind: 'Job', spec: { template: { spec: { ...worker, restartPolicy: 'Never' } } } },
  {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    spec: {
      schedule: '0 3 * * *',
      jobTemplate: { spec: { template: { spec: { ...worker, restartPolicy: 'Never' } } } },
    },
  },
].map((one) => ({ ...one, metadata: { name: 'worker', annotations: WANTED } }));
const STRANGER = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'db' }, spec: { selector, template } };

interface Kustomization {
  readonly resources?: readonly object[];
  readonly more?: object;
}

/** Builds a kustomization that has the component beside it. */
async function build(t: TestContext, { resources = WORKLOADS, more = {} }: Kustomization = {}) {
  const folder = await folderFor(t);
  await cp(COMPONENT, join(folder, 'sidecar'), { recursive: true });
  const files = resources.map((_, index) => `resource-${index}.yaml`);
  for (const [index, resource] of resources.entries())
    await writeFile(join(folder, files[index] ?? ''), JSON.stringify(resource));
  const kustomization = { resources: files, components: ['sidecar'], ...more };
  await writeFile(join(folder, 'kustomization.yaml'), JSON.stringify(kustomization));
  return run(KUSTOMIZE, ['build', folder]);
}

function podOf(workload: unknown): unknown {
  return at(workload, 'spec', 'jobTemplate', 'spec', 'template', 'spec') ?? at(workload, 'spec', 'template', 'spec');
}

describe('the component', needs([KUSTOMIZE, VALIDATE]), () => {
  it('renders what somebody has looked at, and Kubernetes takes', async (t) => {
    const { stdout, stderr } = await build(t, { resources: [...WORKLOADS, STRANGER] });
    equal(stderr, '');
    equal(stdout, golden('sidecar.yaml', stdout));
    deepEqual(await complaints(t, stdout), []);
  });

  it('gives every kind of workload the same sidecar, and none to who did not ask', async (t) => {
    const all = manifests((await build(t, { resources: [...WORKLOADS, STRANGER] })).stdout);
    const sidecars = WORKLOADS.map(({ kind }) => at(podOf(ofKind(all, kind, 'worker')), 'initContainers', 0));
    equal(at(sidecars[0], 'name'), 'keyturn');
    for (const sidecar of sidecars) deepEqual(sidecar, sidecars[0]);
    equal(at(podOf(ofKind(all, 'Deployment', 'db')), 'initContainers'), undefined);
  });

  it('comes before the other init containers, which may use it', async (t) => {
    const spec = { ...worker, initContainers: [{ name: 'migrate', image: 'migrate:1' }] };
    const resource = { ...WORKLOADS[0], spec: { selector, template: { ...template, spec } } };
    const all = manifests((await build(t, { resources: [resource] })).stdout);
    const names = list(at(podOf(ofKind(all, 'Deployment')), 'initContainers')).map((one) => at(one, 'name'));
    deepEqual(names, ['keyturn', 'migrate']);
  });

  it('lets a kustomization have the last word: settings, grace period, image, names', async (t) => {
    const settings = { 'keyturn.yaml': 'drain_timeout: 5s\n' };
    const grace = { spec: { template: { spec: { terminationGracePeriodSeconds: 325 } } } };
    const { stdout, stderr } = await build(t, {
      resources: WORKLOADS.slice(0, 1),
      more: {
        namespace: 'prod',
        namePrefix: 'x-',
        patches: [
          {
            patch: JSON.stringify({
              apiVersion: 'v1',
              kind: 'ConfigMap',
              metadata: { name: 'keyturn-sidecar' },
              data: settings,
            }),
          },
          {
            target: { kind: 'Deployment' },
            patch: JSON.stringify({ kind: 'any', metadata: { name: 'any' }, ...grace }),
          },
        ],
        images: [{ name: 'keyturn', newName: 'registry.example.com/keyturn', newTag: '9' }],
      },
    });
    equal(stderr, '');
    const all = manifests(stdout);
    const pod = podOf(ofKind(all, 'Deployment'));
    equal(at(pod, 'terminationGracePeriodSeconds'), 325);
    equal(at(pod, 'initContainers', 0, 'image'), 'registry.example.com/keyturn:9');
    const map = ofKind(all, 'ConfigMap');
    deepEqual(map['data'], settings);
    // The hash of what it says in the end: changed settings are a changed pod.
    match(String(at(map, 'metadata', 'name')), /^x-keyturn-sidecar-[a-z0-9]{10}$/);
    equal(at(pod, 'volumes', 0, 'configMap', 'name'), at(map, 'metadata', 'name'));
  });

  it('goes by names of 63 characters', async (t) => {
    const name = `a${'b'.repeat(62)}`;
    const resource = { ...WORKLOADS[0], metadata: { name, annotations: WANTED } };
    const { stdout } = await build(t, { resources: [resource] });
    ok(at(podOf(ofKind(manifests(stdout), 'Deployment', name)), 'initContainers'));
    deepEqual(await complaints(t, stdout), []);
  });
});

/** The patches as they stand in the repository: needs no program. */
describe('the sidecar', () => {
  const patch = (file: string): unknown => parse(read(`deploy/kustomize/sidecar/${file}`).text);
  const pod = podOf(patch('pod-template.yaml'));
  const sidecar = at(pod, 'initContainers', 0);

  it('is the same in a CronJob', () => deepEqual(podOf(patch('cron-job.yaml')), pod));

  it('is one that Kubernetes ends after the containers, and that holds up nothing', () => {
    equal(at(sidecar, 'restartPolicy'), 'Always');
    // It would count for the whole pod.
    equal(at(sidecar, 'readinessProbe'), undefined);
    // It would begin when the pod is told to end, before the worker has.
    equal(at(sidecar, 'lifecycle'), undefined);
  });

  it('serves gRPC to its pod alone, and HTTP to kubelet and Prometheus', () => {
    const env = Object.fromEntries(list(at(sidecar, 'env')).map((one) => [at(one, 'name'), at(one, 'value')]));
    deepEqual(env, { KEYTURN_LISTEN: '127.0.0.1:7420', KEYTURN_HTTP_LISTEN: '0.0.0.0:7421' });
    equal(at(sidecar, 'startupProbe', 'httpGet', 'path'), '/readyz');
    equal(at(sidecar, 'livenessProbe', 'httpGet', 'path'), '/healthz');
  });

  it('fits the restricted standard of pods', () => {
    const context = at(sidecar, 'securityContext');
    deepEqual(at(context, 'capabilities'), { drop: ['ALL'] });
    deepEqual([at(context, 'runAsNonRoot'), at(context, 'allowPrivilegeEscalation')], [true, false]);
    deepEqual(at(context, 'seccompProfile'), { type: 'RuntimeDefault' });
    equal(at(context, 'readOnlyRootFilesystem'), true);
  });

  it('has settings that the sidecar takes, whose drain fits into the grace period', async (t) => {
    const { text } = read('deploy/kustomize/sidecar/keyturn.yaml');
    const { stdout } = await command(['serve', '--config', yamlFile(t, text), '--check-config']);
    equal(stdout, 'the configuration is fine\n');
    const drain = Number.parseInt(String(at(parse(text), 'drain_timeout')), 10);
    const grace = Number(at(pod, 'terminationGracePeriodSeconds'));
    equal(grace - drain - 5, 30, 'what is left for the worker');
    // What is kept in memory has room in the container.
    equal(at(parse(text), 'limits', 'payload_memory_bytes'), (512 * 1_048_576) / 8);
    equal(at(sidecar, 'resources', 'limits', 'memory'), '512Mi');
  });
});
