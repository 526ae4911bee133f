import type { Calls, Coordinator } from '../../coordinator.js';
import type { TurnLife } from './live-turns.js';

/** Where the calls about one partition go now: its home, or a session's stream there. */
export class Target {
  /** Calls that it has not answered. */
  open = 0;

  constructor(
    readonly partition: number,
    /** Compared: as long as it is the same one the target is good. */
    readonly home: Coordinator,
    readonly calls: Calls,
  ) {}

  /** A call was answered, refused or given up. */
  done(): void {
    this.open -= 1;
  }
}

/** Whose calls they are: those of a session go to its streams at the homes, others to the homes themselves. */
export interface Source {
  /** Of the turns that are tied to its session; unset: it has none. */
  readonly life?: TurnLife;
  /** Unset: nobody takes calls about this partition now. */
  target(partition: number): Target | undefined;
  /** All of them: a call that is about another partition by now begins there anew. */
  readonly calls: Calls;
}
