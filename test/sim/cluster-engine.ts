/** The store of a simulated cluster, which sees a live owner being robbed. */
import type { Claim, Claimed, NotClaimed } from '../../src/cluster/store/cluster-store.js';
import { FakeEngine } from '../support/cluster/fake-engine.js';
import type { FakeRegistryEngine } from '../support/cluster/fake-registry.js';
import type { FakeClock } from '../support/fake-clock.js';

export class WatchedEngine extends FakeEngine {
  constructor(
    clock: Pick<FakeClock, 'after' | 'now' | 'wall'>,
    private readonly registry: FakeRegistryEngine,
    private readonly broken: (what: string) => void,
  ) {
    super(clock);
  }

  /** Who claims has seen that the session of the owner was over: then it is over for ever. */
  override claim(claim: Claim, owner: string): Claimed | NotClaimed {
    const before = this.guard(claim.partition);
    const answer = super.claim(claim, owner);
    const isLive = this.registry.members.some(({ id }) => id === before.member);
    if (answer.claimed && before.owner !== '' && before.member !== claim.member && isLive)
      this.broken(`${claim.member} takes partition ${claim.partition} from ${before.member}, which lives`);
    return answer;
  }
}
