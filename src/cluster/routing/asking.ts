/** How people's calls reach homes: asked again while there is none, and never waited for without end. */
import type { Administration, MaybePartial, Refusal, Result, Unavailable } from '../../coordinator.js';
import type { PartitionMap } from '../partitions/partition-map.js';
import type { HeldCall } from './gates.js';
import { PATIENCE } from './routed-call.js';
import type { Router } from './router.js';

/** A home elsewhere that says nothing for so long is one that could not be asked, ms. */
export const READ_WITHIN = 5_000;
/** What changes something may have much to change. */
export const CHANGE_WITHIN = 60_000;

type Ask<T> = (admin: Administration, partition: number) => Promise<Result<T>>;

const REROUTED = 'queues were routed anew meanwhile ("keyturn cluster route"); ask again';
/** ms */
const AGAIN = 50;

/** @param within for homes elsewhere, ms */
export function askHome<T>(router: Router, partition: number, within: number, ask: Ask<T>): Promise<Result<T>> {
  return new Promise((resolve, reject) => {
    const asking = new Asking(router, partition, within, ask, { resolve, reject });
    if (!asking.ask()) router.gates.hold(router, partition, asking);
  });
}

export interface Asked<T> {
  readonly partition: number;
  readonly result: Result<T>;
}

/** It says nothing of the question, only of who was asked. */
export function isAway({ kind }: Refusal): boolean {
  return kind === 'no_home' || kind === 'store_unavailable' || kind === 'draining';
}

/** Of answers that read: those that there are, and who gave none. What the question is refused for is the refusal of all. */
export function gather<T>(
  asked: readonly Asked<T>[],
): Result<{ readonly values: readonly T[]; readonly unavailable: readonly Unavailable[] }> {
  const values: T[] = [];
  const unavailable: Unavailable[] = [];
  for (const { partition, result } of asked) {
    if (result.ok) values.push(result.value);
    else if (isAway(result.refusal)) unavailable.push({ partition, why: why(result.refusal) });
    else return result;
  }
  return { ok: true, value: { values, unavailable } };
}

/** Nothing where everybody was asked, so that an answer looks as one of a single sidecar. */
export function partial(unavailable: readonly Unavailable[]): MaybePartial {
  return unavailable.length === 0 ? {} : { unavailable };
}

/**
 * Of calls that change: what all of them answered. One that failed is named, and what others did stays: the call may be
 * repeated.
 */
export function gatherAll<T>(asked: readonly Asked<T>[]): Result<readonly T[]> {
  const values: T[] = [];
  const failed: { readonly partition: number; readonly refusal: Refusal }[] = [];
  for (const { partition, result } of asked) {
    if (result.ok) values.push(result.value);
    else failed.push({ partition, refusal: result.refusal });
  }
  const [first] = failed;
  if (first === undefined) return { ok: true, value: values };
  const refused = failed.find(({ refusal }) => !isAway(refusal));
  if (refused !== undefined) return { ok: false, refusal: refused.refusal };
  const names = failed.map(({ partition, refusal }) => `partition ${partition}: ${why(refusal)}`).join('; ');
  const description = `not done by ${failed.length} of ${asked.length} partitions, the others have done it; it may be repeated; ${names}`;
  // `no_home` says that nothing was changed: only where that is so.
  const isNothing = failed.length === asked.length && failed.every(({ refusal }) => refusal.kind === 'no_home');
  if (isNothing) return { ok: false, refusal: first.refusal };
  return { ok: false, refusal: { kind: 'store_unavailable', description, retryAfter: 1_000 } };
}

export function why(refusal: Refusal): string {
  if (refusal.kind === 'draining') return 'its home is draining';
  return 'description' in refusal ? refusal.description : refusal.kind;
}

interface Outcome<T> {
  resolve(result: Result<T>): void;
  reject(error: unknown): void;
}

class Asking<T> implements HeldCall {
  readonly deadline: number;
  isOver = false;
  /** By which this partition has to be asked. */
  readonly #map: PartitionMap;

  constructor(
    private readonly router: Router,
    private readonly partition: number,
    private readonly within: number,
    private readonly question: Ask<T>,
    private readonly outcome: Outcome<T>,
  ) {
    this.deadline = router.clock.now() + PATIENCE;
    this.#map = router.map;
  }

  ask(): boolean {
    const { router, partition } = this;
    if (router.map !== this.#map) {
      this.giveUp({ kind: 'no_home', partition, description: REROUTED, retryAfter: AGAIN });
      return true;
    }
    const home = router.target(partition)?.home;
    if (home === undefined) return false;
    const callOff = router.homes.isHere(partition) ? undefined : this.#limit();
    this.question(home.admin, partition).then(
      (result) => {
        callOff?.();
        if (this.isOver) return;
        if (!result.ok && result.refusal.kind === 'no_home') router.gates.hold(router, partition, this);
        else this.#end(() => this.outcome.resolve(result));
      },
      (error: unknown) => {
        callOff?.();
        this.#end(() => this.outcome.reject(error));
      },
    );
    return true;
  }

  giveUp(refusal: Refusal): void {
    this.#end(() => this.outcome.resolve({ ok: false, refusal }));
  }

  #limit(): () => void {
    const { partition, within } = this;
    const description = `the home of partition ${partition} has not answered within ${within} ms; look at its log ("keyturn cluster" names it)`;
    // What was asked may have been done.
    return this.router.clock.after(within, () =>
      this.giveUp({ kind: 'store_unavailable', description, retryAfter: 1_000 }),
    );
  }

  #end(tell: () => void): void {
    if (this.isOver) return;
    this.isOver = true;
    tell();
  }
}
