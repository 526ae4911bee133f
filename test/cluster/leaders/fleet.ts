/** Members and gateways of a cluster on one clock, and candidates who stand at any of them. */

import type { Homes } from '../../../src/cluster/partitions/homes.js';
import { PartitionMap } from '../../../src/cluster/partitions/partition-map.js';
import { ClusterCoordinator } from '../../../src/cluster/routing/cluster-coordinator.js';
import type { Coordinator, GroupView, Leaders, Refusal, YieldView } from '../../../src/coordinator.js';
import type { LeadNews } from '../../../src/grpc/gen/keyturn/v1/leader.js';
import { Candidacy, type CandidacyHost } from '../../../src/grpc/services/candidacy.js';
import { durable } from '../../contract/durable-subject.js';
import { settings } from '../../support/builders.js';
import { Call } from '../../support/call.js';
import { MembersStage } from '../member/stage.js';
import { FakeHome } from '../routing/fake-homes.js';

export const GROUP = 'backup';
export const TTL = 5_000;
/** After so long a link to a sidecar that is gone is over, ms. */
const LINK_IS_OVER = 3_000;

type Started = ReturnType<MembersStage['start']>;

export class Fleet {
  readonly stage = new MembersStage(4);
  readonly map = new PartitionMap(4, new Map());
  readonly #members = new Set<Started>();
  readonly #links = new Map<Coordinator, FakeHome>();
  #gateways = 0;
  #streams = 0;

  /** Where the group is decided about. */
  get partition(): number {
    return this.map.ofLeaders(GROUP);
  }

  async member(name: string): Promise<Started> {
    const started = this.stage.start(name);
    this.#members.add(started);
    await this.stage.until(() => this.home !== undefined);
    return started;
  }

  get home(): Started | undefined {
    return [...this.#members].find(({ member }) => member.isHere(this.partition));
  }

  /** As a process: nothing of it is told or heard any more. */
  kill(started: Started): void {
    started.kill();
    this.#members.delete(started);
    this.stage.clock.after(LINK_IS_OVER, () => this.#cut(started));
  }

  /** As a process that is stopped: nobody reaches it. @returns lets it go on */
  freeze(started: Started): () => void {
    this.#members.delete(started);
    this.stage.clock.after(LINK_IS_OVER, () => this.#cut(started));
    return started.freeze();
  }

  /** It hands its partitions over, and ends. */
  async leave(started: Started): Promise<void> {
    const left = started.member.leave(10_000);
    await this.stage.until(() => this.stage.homesOf(started.member).length === 0);
    await this.stage.pass(1_000);
    await left;
    this.#members.delete(started);
  }

  #cut(started: Started): void {
    for (let partition = 0; partition < 4; partition += 1) {
      const home = started.member.home(partition);
      if (home !== undefined) this.#links.get(home)?.shut();
    }
  }

  gateway(): Gateway {
    this.#gateways += 1;
    return new Gateway(this, `gateway-${this.#gateways}`);
  }

  /** Who is the home now, behind something like a link. */
  link(partition: number): FakeHome | undefined {
    for (const { member } of this.#members) {
      const home = member.isHere(partition) ? member.home(partition) : undefined;
      if (home === undefined) continue;
      let link = this.#links.get(home);
      if (link === undefined) {
        link = new FakeHome(home, partition);
        this.#links.set(home, link);
      }
      return link;
    }
    return undefined;
  }

  nextStream(): number {
    this.#streams += 1;
    return this.#streams;
  }
}

/** A sidecar that owns nothing. */
export class Gateway {
  readonly coordinator: ClusterCoordinator;
  readonly #candidacies = new Set<Candidate>();

  constructor(
    readonly fleet: Fleet,
    incarnation: string,
  ) {
    const homes: Homes = {
      partitions: 4,
      home: (partition) => fleet.link(partition),
      isHere: () => false,
      whyNone: () => 'nobody has claimed it',
      look: () => undefined,
      onChange: () => () => undefined,
    };
    const { map, stage } = fleet;
    const { clock } = stage;
    this.coordinator = new ClusterCoordinator({ homes, map, clock, settings: durable(settings()), incarnation });
  }

  get leaders(): Leaders {
    return this.coordinator.leaders;
  }

  stand(id: string, term?: number): Candidate {
    const candidate = new Candidate(this, id, term);
    this.#candidacies.add(candidate);
    candidate.candidacy.ask();
    return candidate;
  }

  /** As a process: its streams end without a word, and homes find its links over. */
  kill(): void {
    for (const { candidacy } of this.#candidacies) candidacy.close();
  }

  async who(): Promise<GroupView> {
    const call = new Call<GroupView>();
    this.leaders.awaitLeader({ group: GROUP, knows: undefined }, call);
    await this.fleet.stage.pass(100);
    return call.value;
  }

  async operatorYields(): Promise<YieldView> {
    const call = new Call<YieldView>();
    this.leaders.yieldLeader(GROUP, call);
    await this.fleet.stage.pass(100);
    return call.value;
  }
}

/** One candidacy of a stream, and what it was told, in words. */
export class Candidate implements CandidacyHost {
  readonly told: string[] = [];
  readonly refused: (Refusal | undefined)[] = [];
  readonly candidacy: Candidacy;
  readonly leaders: Leaders;
  /** The last one that it was told of. */
  term = 0;
  predecessor = '';

  constructor(
    private readonly gateway: Gateway,
    readonly id: string,
    term: number | undefined,
  ) {
    this.leaders = gateway.leaders;
    const stream = gateway.fleet.nextStream();
    const times = { ttl: TTL, inaugurateTimeout: 30_000, handOverTimeout: 10_000 };
    const terms = { group: GROUP, candidateId: id, metadata: new Map<string, string>(), term, ...times };
    this.candidacy = new Candidacy(stream, terms, { at: stream, by: `stream ${stream}` }, this);
    if (term !== undefined) this.term = term;
  }

  tell(_candidacy: number, news: LeadNews['news']): void {
    if (news === undefined) return;
    this.told.push(news.$case === 'standing' ? `standing ${news.value.position}` : news.$case);
    if ('term' in news.value) this.term = Number(news.value.term);
    if (news.$case !== 'inaugurate') return;
    const { candidateId = '', state } = news.value.predecessor ?? {};
    this.predecessor = `${candidateId} "${Buffer.from(state ?? []).toString()}"`;
  }

  over(_candidacy: Candidacy, why: Refusal | undefined): void {
    this.refused.push(why);
  }

  after(ms: number, task: () => void): () => void {
    return this.gateway.fleet.stage.clock.after(ms, task);
  }

  /** What it was told since it was asked last. */
  take(): readonly string[] {
    return this.told.splice(0);
  }

  inaugurated(): void {
    this.candidacy.say(this.term, { kind: 'inaugurated' });
  }

  alive(): void {
    this.candidacy.say(this.term, { kind: 'alive' });
  }

  handOver(state: string): void {
    this.candidacy.say(this.term, { kind: 'handed_over', state: Buffer.from(state) });
  }

  /** Lives for so long, and says so once a second. */
  async live(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 1_000) {
      this.alive();
      await this.gateway.fleet.stage.pass(Math.min(left, 1_000));
    }
  }
}
