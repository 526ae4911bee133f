/** An import among the members of a cluster: nobody takes its guards, and no second one runs. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Member, Registry } from '../../cluster/registry/registry.js';
import { FORMAT } from '../../cluster/store/format.js';
import { EXIT } from '../exit-codes.js';
import { CommandFailure } from '../failure.js';
import { IMPORTS } from '../serve/cluster/record.js';
import { packageVersion } from '../version.js';

/** ms */
const SESSION = 5_000;
const RENEW_EVERY = 1_000;

export class Presence {
  readonly #timer: NodeJS.Timeout;

  private constructor(
    private readonly registry: Registry,
    private readonly cluster: string,
    private readonly member: Member,
  ) {
    this.#timer = setInterval(() => {
      // What counts is looked at where it counts: the guards.
      registry.renew(member, SESSION).catch(() => undefined);
    }, RENEW_EVERY);
  }

  /** @throws CommandFailure when there are others, JournalError */
  static async begin(registry: Registry, cluster: string): Promise<Presence> {
    const host = hostname();
    const fixed = { grpc: '', version: packageVersion(), format: FORMAT, weight: 0, isLeaving: false, routes: 0 };
    const member = { id: `${IMPORTS}${randomUUID()}`, name: `import at ${host}`, address: `${host}:0`, ...fixed };
    await refuse(registry, cluster, member.id);
    await registry.join(member, SESSION);
    const presence = new Presence(registry, cluster, member);
    try {
      await presence.refuseOthers();
      return presence;
    } catch (error) {
      await presence.end();
      throw error;
    }
  }

  get id(): string {
    return this.member.id;
  }

  /** @throws CommandFailure, JournalError */
  refuseOthers(): Promise<void> {
    return refuse(this.registry, this.cluster, this.member.id);
  }

  /**
   * Since it was joined nobody could take its guards: its session never ended.
   * @throws CommandFailure, JournalError
   */
  async confirm(): Promise<void> {
    if (!(await this.registry.renew(this.member, SESSION)))
      throw new CommandFailure(
        'the import stood still for so long that sidecars could have started meanwhile; nothing of it counts; run it again',
        EXIT.failure,
      );
    await this.refuseOthers();
  }

  async end(): Promise<void> {
    clearInterval(this.#timer);
    await this.registry.leave(this.member.id).catch(() => undefined);
  }
}

async function refuse(registry: Registry, cluster: string, own: string): Promise<void> {
  const members = (await registry.members()).filter(({ id }) => id !== own);
  const [first] = members;
  if (first === undefined) return;
  const who = `${first.name} (${first.address})${members.length > 1 ? ` and ${members.length - 1} more` : ''}`;
  throw new CommandFailure(
    `the cluster ${cluster} has members: ${who}; end them all first, and wait until their sessions are over (some seconds)`,
    EXIT.failure,
  );
}
