/** One sidecar for all scenarios that leave it alone: starting one for each takes longer than most of them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Scenario, Step } from '../scenario/model.js';
import { QueueNames } from './queue-names.js';
import { Sidecar } from './sidecar.js';

export class SharedSidecar {
  private constructor(
    readonly sidecar: Sidecar,
    private readonly folder: string,
    private readonly names: ReadonlyMap<Scenario, QueueNames>,
  ) {}

  /** @returns undefined when nobody would share it, or it does not start: then each has its own, and the culprit is told alone */
  static async start(scenarios: readonly Scenario[]): Promise<SharedSidecar | undefined> {
    const sharing = scenarios.filter(mayShare);
    if (sharing.length < 2) return undefined;
    const names = new Map(sharing.map((scenario, at) => [scenario, new QueueNames(`s${at}.`)]));
    const queues = Object.assign({}, ...sharing.map((one) => names.get(one)?.settings(one.sidecar.settings['queues'])));
    const folder = await mkdtemp(join(tmpdir(), 'keyturn-conformance-'));
    const plan = { settings: {}, listen: 'tcp', data: false } as const;
    try {
      return new SharedSidecar(await Sidecar.start(folder, plan, { queues }), folder, names);
    } catch {
      await rm(folder, { recursive: true, force: true });
      return undefined;
    }
  }

  /** How the queues of this scenario are called there. Unset: it has a sidecar of its own. */
  namesOf(scenario: Scenario): QueueNames | undefined {
    return this.names.get(scenario);
  }

  async close(): Promise<void> {
    await this.sidecar.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** It says nothing of a sidecar but policies of queues, and does nothing to it. */
export function mayShare({ sidecar, certificates, steps }: Scenario): boolean {
  const { settings, listen, data } = sidecar;
  const isPlain =
    listen === 'tcp' && !data && !certificates && Object.keys(settings).every((name) => name === 'queues');
  return isPlain && !steps.some(isOfTheSidecar);
}

function isOfTheSidecar({ verb, body }: Step): boolean {
  if (verb === 'sidecar' || verb === 'sidecar_exits') return true;
  return verb === 'repeat' && JSON.stringify(body).includes('"verb":"sidecar');
}
