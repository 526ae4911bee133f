/** The links of this sidecar to the homes of partitions that are elsewhere. */
import type { Coordinator } from '../../coordinator.js';
import type { HandOverStep } from './hand-over-step.js';
import { Link, type LinkContext } from './link.js';
import { RemoteCoordinator } from './remote-coordinator.js';

interface Linked {
  readonly link: Link;
  readonly partitions: Map<number, Coordinator>;
}

export class PeerLinks {
  readonly #links = new Map<string, Linked>();
  #isClosed = false;

  constructor(private readonly context: LinkContext) {}

  /**
   * The coordinator of this partition at another incarnation: the same object whenever it is asked for, until
   * {@link release}. It refuses (`no_home`) as long as there is no link.
   * @param address host:port
   */
  connect(address: string, incarnation: string, partition: number): Coordinator {
    const linked = this.#linkTo(address, incarnation);
    const known = linked.partitions.get(partition);
    if (known !== undefined) return known;
    const coordinator = new RemoteCoordinator(linked.link, partition);
    linked.partitions.set(partition, coordinator);
    return coordinator;
  }

  /** A link to an incarnation that is the home of nothing yet, and is soon. */
  prepare(address: string, incarnation: string): void {
    if (!this.#isClosed) this.#linkTo(address, incarnation);
  }

  /**
   * That incarnation is told that the partition is its: this sidecar has handed it over, and let no call in for so many ms. Or a step
   * before that.
   */
  handedOver(
    address: string,
    incarnation: string,
    partition: number,
    shutFor: number,
    step: HandOverStep = 'done',
  ): void {
    if (!this.#isClosed) this.#linkTo(address, incarnation).link.handedOver(partition, shutFor, step);
  }

  /** Of an incarnation: it is gone. What waits there is told. */
  release(incarnation: string): void {
    const linked = this.#links.get(incarnation);
    this.#links.delete(incarnation);
    linked?.link.close();
  }

  /** All of them, for good. */
  close(): void {
    this.#isClosed = true;
    for (const incarnation of [...this.#links.keys()]) this.release(incarnation);
  }

  /** Why there is no link to that incarnation; `undefined`: there is one, or none is wanted. */
  problemOf(incarnation: string): string | undefined {
    const link = this.#links.get(incarnation)?.link;
    return link?.life === undefined ? link?.why : undefined;
  }

  /** Which incarnations are linked, and why one is not. */
  *standing(): Generator<{
    readonly incarnation: string;
    readonly address: string;
    readonly problem: string | undefined;
    /** Calls of workers that went over it. */
    readonly asked: number;
  }> {
    for (const [incarnation, { link }] of this.#links) {
      yield { incarnation, address: link.address, problem: this.problemOf(incarnation), asked: link.asked };
    }
  }

  #linkTo(address: string, incarnation: string): Linked {
    const known = this.#links.get(incarnation);
    if (known !== undefined) return known;
    if (this.#isClosed) throw new Error('the links of this sidecar are closed');
    const linked = { link: new Link(address, incarnation, this.context), partitions: new Map<number, Coordinator>() };
    this.#links.set(incarnation, linked);
    linked.link.begin();
    return linked;
  }
}
