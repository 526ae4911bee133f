import type {
  Coordinator,
  CoordinatorSettings,
  CoordinatorStats,
  DrainReport,
  Result,
  Session,
  SessionListener,
} from '../coordinator.js';
import { LocalAdministration } from './administration.js';
import { LocalCalls } from './calls.js';
import { type Clock, systemClock } from './clock.js';
import { Loop } from './loop.js';
import { LocalSession } from './session.js';

export interface LocalOptions {
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Of the jitter of back-offs. Default: of the moment. */
  readonly seed?: number;
}

/** The coordinator in this process, in memory. One thread writes, so a step needs no lock. */
export class LocalCoordinator extends LocalCalls implements Coordinator {
  readonly admin: LocalAdministration;
  readonly #clock: Clock;
  #drained: Promise<DrainReport> | undefined;

  constructor(settings: CoordinatorSettings, options: LocalOptions = {}) {
    const clock = options.clock ?? systemClock;
    super(new Loop(settings, clock, options.seed ?? clock.wall()), undefined);
    this.#clock = clock;
    this.admin = new LocalAdministration(this.loop, clock, settings.limits.watchers);
  }

  openSession(listener: SessionListener): Result<Session> {
    const opened = this.loop.core.openStream(listener);
    return opened.ok ? { ok: true, value: new LocalSession(this.loop, opened.value) } : opened;
  }

  stats(): CoordinatorStats {
    return this.loop.core.stats(this.loop.now());
  }

  drain(timeout: number): Promise<DrainReport> {
    this.#drained ??= new Promise((resolve) => {
      this.loop.core.drain(this.loop.now());
      const end = () => {
        this.loop.onSettled = undefined;
        resolve({ liveTurns: this.loop.core.liveTurns, lostItems: this.loop.core.keptItems });
      };
      const callOff = this.#clock.after(timeout, end);
      this.loop.onSettled = () => {
        if (this.loop.core.liveTurns > 0) return;
        callOff();
        end();
      };
      this.settled();
    });
    return this.#drained;
  }

  close(): void {
    this.loop.core.drain(this.loop.now());
    this.loop.core.close();
    this.loop.settle();
    this.loop.watches.end();
    this.loop.close();
  }
}
