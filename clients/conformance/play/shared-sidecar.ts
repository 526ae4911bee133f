/** One sidecar for all scenarios that leave it alone: starting one for each takes longer than most of them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Fields } from '../fields.js';
import type { Scenario, Step } from '../scenario/model.js';
import type { Behind } from './behind.js';
import { QueueNames } from './queue-names.js';
import { Sidecar } from './sidecar.js';

export class SharedSidecar {
  private constructor(
    readonly sidecar: Sidecar,
    private readonly folder: string,
    private readonly names: ReadonlyMap<Scenario, QueueNames>,
  ) {}

  /**
   * @param behind where policies are then: what stands behind a gateway knows them, it need not
   * @returns undefined when nobody would share it, or it does not start: then each has its own, and the culprit is told alone
   */
  static async start(
    scenarios: readonly Scenario[],
    language: string,
    behind?: Behind,
  ): Promise<SharedSidecar | undefined> {
    const sharing = scenarios.filter(mayShare);
    if (sharing.length < 2) return undefined;
    const names = new Map(
      sharing.map((scenario, at) => [scenario, behind?.namesOf(scenario, language) ?? new QueueNames(`s${at}.`)]),
    );
    const folder = await mkdtemp(join(tmpdir(), 'keyturn-conformance-'));
    const plan = { settings: {}, listen: 'tcp', data: false } as const;
    try {
      const settings = await (behind?.gatewayOf(undefined) ?? { queues: policies(names) });
      return new SharedSidecar(await Sidecar.start(folder, plan, settings), folder, names);
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

function policies(names: ReadonlyMap<Scenario, QueueNames>): Fields {
  return Object.assign({}, ...[...names].map(([{ sidecar }, own]) => own.settings(sidecar.settings['queues'])));
}

/** It says nothing of a sidecar but policies of queues, and does nothing to it. */
export function mayShare({ sidecar, certificates, cluster, files, steps }: Scenario): boolean {
  const { settings, listen, data } = sidecar;
  const isPlain =
    listen === 'tcp' &&
    !data &&
    !certificates &&
    !cluster &&
    Object.keys(files).length === 0 &&
    Object.keys(settings).every((name) => name === 'queues');
  return isPlain && !steps.some(isOfTheSidecar);
}

function isOfTheSidecar({ verb, body }: Step): boolean {
  if (verb === 'sidecar' || verb === 'sidecar_exits') return true;
  return verb === 'repeat' && JSON.stringify(body).includes('"verb":"sidecar');
}
