/**
 * What stands behind the gateways of the suite: a Redis and two homes. They know the queues of all scenarios, under names of
 * their own, and each has half of the partitions, so that the queues of a scenario live at both.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
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
/** Of homes that are killed: until the other one takes over. */
const SHORT_SESSION = '5s';
const LAST_LINES = 20;
/** Settings that a gateway has for itself: where it listens and how. */
const OF_A_GATEWAY: ReadonlySet<string> = new Set(['queues', 'tls']);

export class Homes implements Behind {
  #alone = 0;
  /** Of scenarios that have homes of their own. */
  readonly #own = new Map<Scenario, readonly ServeProcess[]>();
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
    if (together.length === 0) return homes;
    const queues = languages.flatMap((language) =>
      together.map((scenario) => policies(scenario, homes.namesOf(scenario, language))),
    );
    const [first] = await homes.#two('together', { queues: Object.assign({}, ...queues) }, SESSION);
    await bothHaveHalf(await first.address('grpc'));
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
    // Rights are judged by the gateway, which has them as the scenario says them, with the paths of its files.
    const { auth: _, ...ofAll } = scenario.sidecar.settings;
    const settings = { ...ofAll, queues: policies(scenario, OWN_NAMES) };
    for (const home of this.#own.get(scenario) ?? []) home.signal('SIGKILL');
    this.#own.set(scenario, await this.#two(name, settings, scenario.cluster ? SHORT_SESSION : SESSION));
    return { ...settings, ...this.#gateway(name) };
  }

  async killHome(scenario: Scenario, group: string): Promise<void> {
    const address = await homeOf(group, await this.#anyOf(scenario));
    for (const home of this.#own.get(scenario) ?? []) {
      if ((await home.address('grpc')) !== address) continue;
      home.signal('SIGKILL');
      await home.exited;
      return;
    }
    throw new Error(`the home of ${group}, ${address}, is not one of those of ${scenario.id}`);
  }

  async #anyOf(scenario: Scenario): Promise<string> {
    const [first] = this.#own.get(scenario) ?? [];
    if (first === undefined) throw new Error(`${scenario.id} has no homes of its own: write cluster: true`);
    return first.address('grpc');
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

  async #two(name: string, settings: Fields, session: string): Promise<readonly [ServeProcess, ServeProcess]> {
    const file = join(this.folder, `${name}.json`);
    const cluster = { name, partitions: PARTITIONS, session };
    await writeFile(file, JSON.stringify({ ...settings, store: this.redis.url, cluster }));
    const start = (): Promise<ServeProcess> => ServeProcess.start(this.cleanup, ['--config', file]);
    const two = await Promise.all([start(), start()]);
    this.#started.push(...two);
    return two;
  }
}

/** It says something of those who decide that is not about its queues alone. */
function wantsOwnHomes({ sidecar, cluster }: Scenario): boolean {
  return cluster || Object.keys(sidecar.settings).some((setting) => !OF_A_GATEWAY.has(setting));
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

/** Where the sidecar that decides about a group is asked. */
async function homeOf(group: string, address: string): Promise<string | undefined> {
  const client = connect(address, { transport: 'unary' });
  try {
    const { homes, members } = await client.admin.getCluster();
    const home = homes.find(({ partition }) => partition === crc32(group) % PARTITIONS);
    return members.find(({ id }) => id === home?.member)?.address;
  } finally {
    await client.close();
  }
}
