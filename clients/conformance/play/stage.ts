/** What one scenario is played on: sidecar, proxy, players, and the names that it has given. */
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Fields, isFields } from '../fields.js';
import { type Bindings, filled } from '../match/bindings.js';
import { makeCertificates } from '../process/certificates.js';
import { FaultProxy } from '../process/fault-proxy.js';
import type { Answer, Asked } from '../process/player-process.js';
import type { Scenario } from '../scenario/model.js';
import type { Behind } from './behind.js';
import { within } from './bounds.js';
import { Member } from './member.js';
import type { PlayerPool } from './player-pool.js';
import { OWN_NAMES, type QueueNames } from './queue-names.js';
import type { SharedSidecar } from './shared-sidecar.js';
import { Sidecar } from './sidecar.js';

export interface Call {
  readonly op: string;
  readonly member: Member;
  readonly asked: Asked;
  readonly since: number;
}

/** The first client of a player loads its transport: a virtual machine that has just started, on a busy machine. */
const OPENING_MS = 60_000;
/** How long a client may take to close at the end, ms: its handlers and items have a tenth of a second. */
const CLOSING_MS = 10_000;
const LAST_TIMEOUT_MS = 100;

/** What scenarios have in common. */
export interface Around {
  /** For those that need no sidecar of their own. */
  readonly shared?: SharedSidecar | undefined;
  /** Players of other languages, for those that mix them. */
  readonly others?: readonly PlayerPool[] | undefined;
  /** Behind their own, too. */
  readonly behind?: Behind | undefined;
}

let scenarios = 0;

export class Stage {
  readonly bindings = new Map<string, unknown>();
  readonly marks = new Map<string, number>();
  readonly calls = new Map<string, Call>();
  readonly members = new Map<string, Member>();
  readonly #homes = new Map<string, Member>();
  readonly #number: number;

  private constructor(
    private readonly pool: PlayerPool,
    /** Of all languages that take part, that of the scenario first. */
    private readonly pools: readonly PlayerPool[],
    private readonly folder: string,
    readonly scenario: Scenario,
    readonly sidecar: Sidecar,
    /** How queues are called at the sidecar. */
    readonly queues: QueueNames,
    /** It is ended with the scenario. */
    private readonly isOwn: boolean,
    readonly proxy: FaultProxy | undefined,
    /** What stands behind the sidecar. */
    readonly behind: Behind | undefined,
    bound: Bindings,
  ) {
    scenarios += 1;
    this.#number = scenarios;
    for (const [name, value] of bound) this.bindings.set(name, value);
    this.bindings.set('address', sidecar.address);
    this.bindings.set('language', pool.language);
  }

  /** Starts everything. What cannot be started leaves nothing behind. */
  static async set(scenario: Scenario, pool: PlayerPool, { shared, behind, others = [] }: Around): Promise<Stage> {
    const folder = await mkdtemp(join(tmpdir(), 'keyturn-conformance-'));
    const sharing = shared?.namesOf(scenario);
    let own: Sidecar | undefined;
    try {
      const bound = new Map([['folder', folder]]);
      if (scenario.certificates) bound.set('certificates', await makeCertificates(folder));
      for (const [name, text] of Object.entries(scenario.files)) await putFile(folder, name, text);
      if (shared === undefined || sharing === undefined) own = await ownSidecar(scenario, folder, bound, behind);
      const sidecar = own ?? shared?.sidecar;
      if (sidecar === undefined) throw new Error('there is no sidecar');
      const proxy = scenario.proxy ? await FaultProxy.start(sidecar.address) : undefined;
      const queues = sharing ?? behind?.namesOf(scenario, pool.language) ?? OWN_NAMES;
      const pools = [pool, ...(scenario.mixed ? others : [])];
      return new Stage(pool, pools, folder, scenario, sidecar, queues, own !== undefined, proxy, behind, bound);
    } catch (error) {
      await own?.close();
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /** Brings in the players, and opens the clients. */
  async begin(): Promise<void> {
    for (const name of this.scenario.players) await this.enter(name);
    for (const [client, { player, ...args }] of Object.entries(this.scenario.clients)) {
      const member = this.member(player === undefined ? undefined : String(player));
      const open = filled({ client, ...args }, this.bindings);
      const { answer } = this.open(member, isFields(open) ? open : {});
      const opened = await within(OPENING_MS, `client ${client} is open`, answer);
      if ('error' in opened) throw new Error(`client ${client} cannot be opened: ${JSON.stringify(opened.error)}`);
    }
  }

  async enter(name: string): Promise<Member> {
    const pool = this.pools[this.members.size % this.pools.length] ?? this.pool;
    const member = new Member(await pool.borrow(), this.#number, this.queues, pool);
    this.members.set(name, member);
    return member;
  }

  /** @param name unset: the first */
  member(name: string | undefined): Member {
    const member = name === undefined ? [...this.members.values()][0] : this.members.get(name);
    if (member !== undefined) return member;
    throw new Error(`no player is called ${name}; there are ${[...this.members.keys()].join(', ')}`);
  }

  /** @param name of a client or a handle */
  homeOf(name: string): Member {
    const member = this.#homes.get(name);
    if (member !== undefined) return member;
    throw new Error(`nobody is called ${name}; there are ${[...this.#homes.keys()].join(', ')}`);
  }

  lives(name: string, member: Member): void {
    this.#homes.set(name, member);
  }

  open(member: Member, args: Fields): Asked {
    const { through, ...open } = args;
    const name = String(args['client']);
    const direct = through === 'sidecar' || this.proxy === undefined;
    this.lives(name, member);
    const address = direct ? this.sidecar.address : this.proxy?.address;
    const asked = member.request('open', { address, ...open });
    const opened = (answer: Answer): void => {
      if ('ok' in answer) member.clients.add(name);
    };
    // Whoever asked is told of a player that is broken.
    asked.answer.then(opened, () => undefined);
    return asked;
  }

  /** Once it is closed it is not to be closed at the end. */
  closing(member: Member, client: string, { answer }: Asked): void {
    answer.then(
      (closed) => void ('ok' in closed && member.clients.delete(client)),
      () => undefined,
    );
  }

  /** A file in the folder of the scenario, whole or not at all: whoever reads it meanwhile has the one before. */
  write(name: string, text: string): Promise<void> {
    return putFile(this.folder, name, text);
  }

  /** @returns what went wrong while everything was closed */
  async leave(isWell: boolean): Promise<string | undefined> {
    let wrong: string | undefined;
    for (const member of this.members.values()) {
      const closed = isWell && wrong === undefined ? await closeClients(member) : 'the scenario failed';
      if (closed === undefined) member.pool.giveBack(member.process);
      else member.process.kill();
      if (isWell) wrong ??= closed;
      member.leave();
    }
    await this.proxy?.close();
    if (this.isOwn) await this.sidecar.close();
    await rm(this.folder, { recursive: true, force: true });
    return wrong;
  }
}

async function putFile(folder: string, name: string, text: string): Promise<void> {
  const path = join(folder, name);
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

async function ownSidecar(
  scenario: Scenario,
  folder: string,
  bound: Bindings,
  behind: Behind | undefined,
): Promise<Sidecar> {
  const { sidecar: plan } = scenario;
  const filledIn = filled(plan.settings, bound);
  const settings = isFields(filledIn) ? filledIn : {};
  if (behind === undefined) return Sidecar.start(folder, plan, settings);
  // Policies of queues and what is kept on a disk are a matter of what stands behind it.
  const { queues: _, ...own } = settings;
  return Sidecar.start(folder, { ...plan, data: false }, { ...own, ...(await behind.gatewayOf(scenario)) });
}

/** @returns what went wrong */
async function closeClients(member: Member): Promise<string | undefined> {
  if (member.process.broken !== undefined) return undefined;
  for (const client of member.clients) {
    try {
      const { answer } = member.request('close', { client, timeout_ms: LAST_TIMEOUT_MS });
      const closed = await within(CLOSING_MS, `client ${client} is closed`, answer);
      if ('error' in closed) return `client ${client} cannot be closed: ${JSON.stringify(closed.error)}`;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }
  return undefined;
}
