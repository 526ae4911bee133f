/**
 * What stands behind the gateways of the suite: a Redis and two homes. They know the queues of all scenarios, under names of
 * their own, and each has half of the partitions, so that the queues of a scenario live at both.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connect } from '@keyturn/client';
import { type Fields, fieldsOf } from '../../../clients/conformance/fields.js';
import type { Behind } from '../../../clients/conformance/play/behind.js';
import { OWN_NAMES, QueueNames } from '../../../clients/conformance/play/queue-names.js';
import type { Scenario } from '../../../clients/conformance/scenario/model.js';
import { ServeProcess } from '../../cli/serve-process.js';
import { type Cleanup, TestRedis } from '../../support/redis.js';
import { linkedQueues } from './linked-queues.js';

/** So few that they are shared out in one go. */
const PARTITIONS = 8;
/** Members that have been the same for 15 s share their partitions out. */
const LONGEST_SHARING_MS = 90_000;
const BETWEEN_MS = 100;
/** A machine that does much else at once does not end the home of anything. */
const SESSION = '15s';
const LAST_LINES = 20;
/** Settings that a gateway has for itself: where it listens and how. */
const OF_A_GATEWAY: ReadonlySet<string> = new Set(['queues', 'tls']);

export class Homes implements Behind {
  #alone = 0;
  readonly #started: ServeProcess[] = [];

  private constructor(
    private readonly cleanup: Cleanup,
    private readonly redis: TestRedis,
    private readonly folder: string,
    private readonly numbers: ReadonlyMap<Scenario, number>,
  ) {}

  /** @param languages that play all these scenarios, one after the other */
  static async start(cleanup: Cleanup, scenarios: readonly Scenario[], languages: readonly string[]): Promise<Homes> {
    const folder = await mkdtemp(join(tmpdir(), 'keyturn-homes-'));
    cleanup.after(() => rm(folder, { recursive: true, force: true }));
    const numbers = new Map(scenarios.map((scenario, number) => [scenario, number]));
    const homes = new Homes(cleanup, await TestRedis.start(cleanup), folder, numbers);
    const together = scenarios.filter((scenario) => !wantsOwnHomes(scenario));
    const queues = languages.flatMap((language) =>
      together.map((scenario) => policies(scenario, homes.namesOf(scenario, language))),
    );
    const started = await homes.#two('together', { queues: Object.assign({}, ...queues) });
    await bothHaveHalf(await started.address('grpc'));
    return homes;
  }

  namesOf(scenario: Scenario, language: string): QueueNames {
    return wantsOwnHomes(scenario) ? OWN_NAMES : new QueueNames(`${language}.${this.numbers.get(scenario)}.`);
  }

  async gatewayOf(scenario: Scenario | undefined): Promise<Fields> {
    // Policies of queues are those of the homes, whatever the gateway says or leaves out.
    if (scenario === undefined || !wantsOwnHomes(scenario)) return this.#gateway('together');
    this.#alone += 1;
    const name = `alone-${this.#alone}`;
    const settings = { ...scenario.sidecar.settings, queues: policies(scenario, OWN_NAMES) };
    await this.#two(name, settings);
    return { ...settings, ...this.#gateway(name) };
  }

  get log(): string {
    const lines = this.#started.map(({ lines }, at) =>
      lines.slice(-LAST_LINES).map((line) => `home ${at + 1}: ${JSON.stringify(line)}`),
    );
    return lines.flat().join('\n');
  }

  #gateway(name: string): Fields {
    return { store: this.redis.url, cluster: { name, weight: 0 } };
  }

  /** @returns the first of them */
  async #two(name: string, settings: Fields): Promise<ServeProcess> {
    const file = join(this.folder, `${name}.json`);
    const cluster = { name, partitions: PARTITIONS, session: SESSION };
    await writeFile(file, JSON.stringify({ ...settings, store: this.redis.url, cluster }));
    const start = (): Promise<ServeProcess> => ServeProcess.start(this.cleanup, ['--config', file]);
    const [first, second] = await Promise.all([start(), start()]);
    this.#started.push(first, second);
    return first;
  }
}

/** It says something of those who decide that is not about its queues alone. */
function wantsOwnHomes({ sidecar }: Scenario): boolean {
  return Object.keys(sidecar.settings).some((setting) => !OF_A_GATEWAY.has(setting));
}

/** What the homes are told of the queues of a scenario. Those that one step reaches have a group. */
function policies(scenario: Scenario, names: QueueNames): Fields {
  const written = fieldsOf(scenario.sidecar.settings['queues'] ?? {});
  const linked = linkedQueues(scenario);
  const [group] = Object.keys(names.settings(Object.fromEntries(linked.map((queue) => [queue, {}]))));
  const grouped = linked.map((queue) => [queue, { ...fieldsOf(written[queue] ?? {}), group }]);
  return names.settings({ ...written, ...Object.fromEntries(grouped) });
}

async function bothHaveHalf(address: string): Promise<void> {
  const client = connect(address, { transport: 'unary' });
  const end = performance.now() + LONGEST_SHARING_MS;
  try {
    for (;;) {
      const { members, unavailable } = await client.admin.getCluster();
      const shares = members.filter(({ weight }) => weight > 0).map(({ partitions }) => partitions);
      if (unavailable.length === 0 && shares.join() === `${PARTITIONS / 2},${PARTITIONS / 2}`) return;
      if (performance.now() > end) throw new Error(`two homes have not got half of the partitions each: ${shares}`);
      await pause(BETWEEN_MS);
    }
  } finally {
    await client.close();
  }
}
