/** The end of a sidecar: no new work; it is over when the turns that its workers have are. */
import type { Coordinator, DrainReport } from '../../coordinator.js';
import { DRAINING } from '../../core/contract/refusals.js';
import type { Router } from './router.js';

/** Leases that end one after the other are not looked at one by one, ms. */
const LEAST_LOOK = 50;

interface Here {
  readonly home: Coordinator;
  readonly report: Promise<DrainReport>;
}

/** Turns of homes in this process are counted by them, whoever has them; of others those that passed here. */
export class Drain {
  readonly #end: number;
  readonly #isElsewhere = (token: number) => !this.router.homes.isHere(token % this.router.homes.partitions);
  readonly #here = new Map<number, Here>();
  /** Of those, where turns live. */
  readonly #live = new Set<Coordinator>();
  #callOffLook: (() => void) | undefined;
  #isLookDue = false;
  #over: (() => void) | undefined;

  /** @param timeout ms from now */
  constructor(
    private readonly router: Router,
    timeout: number,
  ) {
    this.#end = router.clock.now() + timeout;
  }

  /** Resolves when no turn lives of which workers have to tell by way of this sidecar, or when its time is over. */
  async run(): Promise<DrainReport> {
    const { router } = this;
    const { homes } = router;
    router.ended = DRAINING;
    // Homes here refuse who waits with them, each in its order; then those who wait elsewhere are refused.
    for (let partition = 0; partition < homes.partitions; partition += 1) this.#see(partition);
    const stop = homes.onChange((partitions) => {
      for (const partition of partitions) this.#see(partition);
      this.#soon();
    });
    router.endAll(DRAINING, false);
    await this.#settled();
    stop();
    return this.#report();
  }

  /** The sidecar is closed: nobody settles anything any more. */
  end(): void {
    this.#over?.();
  }

  get #left(): number {
    return Math.max(0, this.#end - this.router.clock.now());
  }

  /** A partition that is handed over meanwhile is another's to drain, and one that comes is this one's. */
  #see(partition: number): void {
    const { homes } = this.router;
    const home = homes.isHere(partition) ? homes.home(partition) : undefined;
    const known = this.#here.get(partition);
    if (known?.home === home) return;
    if (known !== undefined) this.#live.delete(known.home);
    this.#here.delete(partition);
    if (home === undefined) return;
    this.#live.add(home);
    const report = home.drain(this.#left);
    this.#here.set(partition, { home, report });
    const done = () => {
      this.#live.delete(home);
      this.#look();
    };
    // What it fails with is told with the report.
    report.then(done, done);
  }

  #settled(): Promise<void> {
    const { router } = this;
    return new Promise((resolve) => {
      const callOff = router.clock.after(this.#left, () => this.#over?.());
      this.#over = () => {
        callOff();
        this.#callOffLook?.();
        router.onEnded = undefined;
        this.#over = undefined;
        resolve();
      };
      router.onEnded = () => this.#soon();
      this.#look();
    });
  }

  /** Not in the middle of an answer: it leaves first, and may be followed by the next call. */
  #soon(): void {
    if (this.#isLookDue) return;
    this.#isLookDue = true;
    this.router.clock.soon(() => {
      this.#isLookDue = false;
      this.#look();
    });
  }

  #look(): void {
    const { router } = this;
    this.#callOffLook?.();
    this.#callOffLook = undefined;
    if (this.#over === undefined || this.#live.size > 0 || router.isBusy) return;
    const first = router.turns.first(this.#isElsewhere);
    if (first === undefined) return this.#over();
    // It may end by time alone, which nobody tells.
    const wait = Math.max(LEAST_LOOK, first.until - router.clock.now());
    if (wait < this.#left) this.#callOffLook = router.clock.after(wait, () => this.#look());
  }

  async #report(): Promise<DrainReport> {
    const reports = await Promise.all([...this.#here.values()].map(({ report }) => report));
    return {
      liveTurns:
        reports.reduce((sum, { liveTurns }) => sum + liveTurns, 0) + this.router.turns.count(this.#isElsewhere),
      lostItems: reports.reduce((sum, { lostItems }) => sum + lostItems, 0),
    };
  }
}
