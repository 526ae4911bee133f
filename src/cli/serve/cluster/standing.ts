import { randomUUID } from 'node:crypto';
import type { ClusterMember } from '../../../cluster/member/member.js';
import type { Coordinator } from '../../../coordinator.js';
import type { HandOverStep } from '../../../grpc/peer/hand-over-step.js';

/** What this sidecar is to the others, as far as it has been made. */
export class Standing {
  /** Unset: a gateway, or none yet. */
  member: ClusterMember | undefined = undefined;

  /** Nobody else knows it, so no link can be made. */
  readonly #before = randomUUID();

  /** What links to this sidecar have to name. */
  get incarnation(): string {
    return this.member?.member.id ?? this.#before;
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
