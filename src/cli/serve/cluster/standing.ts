import type { ClusterMember } from '../../../cluster/member/member.js';
import type { Coordinator } from '../../../coordinator.js';
import type { HandOverStep } from '../../../grpc/peer/hand-over-step.js';

/** What this sidecar is to the others, as far as it has been made. */
export class Standing {
  /** Unset: a gateway, or none yet. */
  member: ClusterMember | undefined = undefined;

  /** What links to this sidecar have to name; empty: none can be made. */
  get incarnation(): string {
    return this.member?.member.id ?? '';
  }

  handedOver(partition: number, shutFor: number, step: HandOverStep): void {
    if (step === 'read') this.member?.readAhead(partition);
    else if (step === 'has_read') this.member?.hasReadAhead(partition);
    else this.member?.takesOver(partition, shutFor);
  }

  behind(): void {
    this.member?.look();
  }

  home(partition: number): Coordinator | undefined {
    return this.member?.isHere(partition) === true ? this.member.home(partition) : undefined;
  }
}
