/**
 * A pod as kubelet runs it, of real processes: the sidecar as the component has it, probed as kubelet probes, the main
 * container when the startup probe has passed, and at the end SIGTERM to the main container, after its end to the
 * sidecar, and SIGKILL for who is there after the grace period.
 */
import { get } from 'node:http';
import type { TestContext } from 'node:test';
import { setTimeout as pass } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { parse } from 'yaml';
import { ROOT, read } from '../project/repository.js';
import { MAIN } from '../support/main.js';
import { NodeProcess } from '../support/node-process.js';
import { at, list } from './tools.js';

/** The pod's address: another one of this machine than that of its loopback. */
const POD_ADDRESS = '127.0.0.2';
/** What kubelet leaves to a sidecar when the grace period is over. */
const LEAST_GRACE_MS = 2_000;

const patch: unknown = parse(read('deploy/kustomize/sidecar/pod-template.yaml').text);
const spec = at(patch, 'spec', 'template', 'spec');
const container = at(spec, 'initContainers', 0);

export interface Probe {
  readonly path: string;
  readonly timeoutMs: number;
  readonly periodMs: number;
  readonly failures: number;
}

function probeOf(name: 'startupProbe' | 'livenessProbe'): Probe {
  const probe = at(container, name);
  return {
    path: String(at(probe, 'httpGet', 'path')),
    timeoutMs: Number(at(probe, 'timeoutSeconds')) * 1_000,
    periodMs: Number(at(probe, 'periodSeconds')) * 1_000,
    failures: Number(at(probe, 'failureThreshold')),
  };
}

export const STARTUP = probeOf('startupProbe');
export const LIVENESS = probeOf('livenessProbe');

/** Its variables, with free ports in place of those that a pod has for itself. */
function variables(): Record<string, string> {
  const all = list(at(container, 'env')).map((one) => [String(at(one, 'name')), String(at(one, 'value'))]);
  return Object.fromEntries(all.map(([name, value = '']) => [name, value.replace(/:\d+$/, ':0')]));
}

export interface PodOptions {
  /** Variables of the sidecar in place of those of the component. */
  readonly env?: Readonly<Record<string, string>>;
  /** Unset: that of the component. */
  readonly graceMs?: number;
}

export class Pod {
  /** What kubelet did and saw, in order. */
  readonly events: string[] = [];
  readonly sidecar: NodeProcess;
  readonly #graceMs: number;

  constructor(
    private readonly t: TestContext,
    { env = {}, graceMs = Number(at(spec, 'terminationGracePeriodSeconds')) * 1_000 }: PodOptions = {},
  ) {
    this.#graceMs = graceMs;
    const args = list(at(container, 'args')).map((word) =>
      word === '/etc/keyturn/keyturn.yaml' ? `${ROOT}deploy/kustomize/sidecar/keyturn.yaml` : String(word),
    );
    this.sidecar = new NodeProcess(t, pathToFileURL(MAIN), { args, env: { ...variables(), ...env } });
    void this.sidecar.ended.then((how) => this.events.push(`sidecar ended: ${how}`));
  }

  /** Waits for the startup probe, and only then starts the main container. */
  async start(main: URL, args: readonly string[] = []): Promise<NodeProcess> {
    for (let failures = 0; (await this.probe(STARTUP)) !== 200; failures++) {
      if (failures >= STARTUP.failures) throw new Error('the startup probe failed');
      await pass(STARTUP.periodMs);
    }
    this.events.push('started');
    const grpc = String((await this.listening())['grpc']);
    const process = new NodeProcess(this.t, main, { args: [grpc, ...args] });
    void process.ended.then((how) => this.events.push(`main ended: ${how}`));
    return process;
  }

  async listening(): Promise<Readonly<Record<string, unknown>>> {
    return await this.sidecar.says(({ msg }) => msg === 'listening');
  }

  /** @returns the status, or why there was none */
  async probe({ path, timeoutMs }: Probe): Promise<number | string> {
    const http = String((await this.listening())['http']);
    const port = Number(http.slice(http.lastIndexOf(':') + 1));
    const headers = { 'user-agent': 'kube-probe/1.33', accept: '*/*', connection: 'close' };
    return new Promise((resolve) => {
      const options = { host: POD_ADDRESS, port, path, headers, timeout: timeoutMs, agent: false };
      const request = get(options, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      request.on('timeout', () => request.destroy(new Error('timeout')));
      request.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    });
  }

  /** The end of a pod that is deleted. */
  async terminate(main: NodeProcess): Promise<void> {
    const begun = performance.now();
    this.events.push('main told');
    main.kill('SIGTERM');
    await endOrKill(main, this.#graceMs);
    await this.endSidecar(Math.max(this.#graceMs - (performance.now() - begun), LEAST_GRACE_MS));
  }

  /** All containers have ended: a Job is done, or the pod is deleted. */
  async endSidecar(graceMs = this.#graceMs): Promise<void> {
    this.events.push('sidecar told');
    this.sidecar.kill('SIGTERM');
    await endOrKill(this.sidecar, graceMs);
  }
}

async function endOrKill(process: NodeProcess, graceMs: number): Promise<void> {
  const timer = setTimeout(() => process.kill('SIGKILL'), graceMs);
  await process.ended;
  clearTimeout(timer);
}
