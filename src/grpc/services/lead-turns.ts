/**
 * The commands of all Lead streams of a server. One message may bring a thousand, and ten thousand leaders may beat at once: a turn
 * of the event loop carries out some of them, the rest follows in the turns after it, a few of each stream by turns.
 */

/** Commands of all streams in one turn of the event loop: a few milliseconds. */
const IN_A_TURN = 64;
/** Of one stream before the next stream has its turn. */
const OF_A_STREAM = 16;

export interface LeadCommands {
  /** Carries out the next one, if there is one. @returns whether another one is left */
  next(): boolean;
}

export class LeadTurns {
  readonly #waiting = new Set<LeadCommands>();
  #left = IN_A_TURN;
  #isTurnAhead = false;

  /** Carries them out, as many as this turn of the loop allows now. */
  begin(commands: LeadCommands): void {
    this.#waiting.add(commands);
    this.#carryOut();
  }

  #carryOut(): void {
    // A set goes on with what is put back behind while it is walked.
    for (const commands of this.#waiting) {
      if (this.#left === 0) break;
      this.#waiting.delete(commands);
      if (this.#someOf(commands)) this.#waiting.add(commands);
    }
    if (this.#isTurnAhead) return;
    this.#isTurnAhead = true;
    setImmediate(this.#nextTurn);
  }

  /** @returns whether more are left */
  #someOf(commands: LeadCommands): boolean {
    for (let some = OF_A_STREAM; some > 0 && this.#left > 0; some -= 1) {
      this.#left -= 1;
      if (!commands.next()) return false;
    }
    return true;
  }

  readonly #nextTurn = (): void => {
    this.#isTurnAhead = false;
    this.#left = IN_A_TURN;
    if (this.#waiting.size > 0) this.#carryOut();
  };
}
