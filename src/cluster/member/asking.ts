/**
 * Asks for items of other groups that items here wait for, of all partitions that this member is the home of, until each has ended.
 * All are asked for at the same time, however many: what ends while nobody asks for it may be forgotten (`result_ttl`). Where a home
 * lets no more calls wait, it is asked again every second.
 *
 * Nothing rests on it: what is waited for is in the row of the item that waits. So whoever is the home next asks again, and it does
 * not matter what is lost, late or told twice. Nothing is kept where the items are asked for.
 */
import type { AwaitAnswer, FarEnd, ItemRef, Waiting } from '../../coordinator.js';
import type { Clock } from '../../local/clock.js';
import type { HomeCoordinator } from '../../local/home.js';
import type { FollowedRoutes } from '../partitions/followed-routes.js';
import type { Homes } from '../partitions/homes.js';

/** So many requests leave in one go; the others in the next ones. */
const SLICE = 500;
/** How long a question waits for the end, ms. */
const WAIT = 20_000;
/** Then whoever was asked may be no home any more, ms after the end of the wait. */
const PATIENCE = 5_000;
/** After a refusal, ms; each time twice as long. */
const FIRST_PAUSE = 20;
const LONGEST_PAUSE = 1_000;

/** What one home waits for. It ends when that is nothing any more, or the core is not the home. */
class Round {
  /** Of {@link HomeCoordinator.far}: in the line, or asked for, or to be asked again in a while. */
  readonly known = new Set<ItemRef>();
  /** To be asked for, in order. */
  readonly line = new Set<ItemRef>();
  readonly questions = new Set<Question>();
  /** It is going to look. */
  isReady = false;
  /** Of those that were refused, after the last time, ms. One that is answered says nothing of the others. */
  readonly pauses = new Map<ItemRef, number>();

  constructor(
    readonly partition: number,
    readonly home: HomeCoordinator,
  ) {}

  /** Nobody waits for it any more. */
  forget(ref: ItemRef): void {
    this.known.delete(ref);
    this.pauses.delete(ref);
  }
}

/** One item, asked for in all partitions in which it may be. */
class Question {
  readonly pending: Waiting[] = [];
  left: number;
  isOver = false;
  isRefused = false;
  /** Unset: nobody who answered knows it. */
  answer: AwaitAnswer | undefined;
  callOff: (() => void) | undefined;

  constructor(
    readonly ref: ItemRef,
    partitions: number,
  ) {
    this.left = partitions;
  }

  end(): void {
    this.isOver = true;
    this.callOff?.();
    if (this.left > 0) for (const pending of this.pending) pending?.cancel();
  }
}

export class Asking {
  readonly #rounds = new Map<number, Round>();
  #isEnded = false;

  /** @param own of a partition that this member is the home of now */
  constructor(
    private readonly clock: Clock,
    private readonly homes: Pick<Homes, 'home' | 'onChange'>,
    private readonly own: (partition: number) => HomeCoordinator | undefined,
    private readonly routes: FollowedRoutes,
  ) {
    homes.onChange((partitions) => {
      for (const partition of partitions) this.ready(partition);
    });
  }

  /** Items of this partition may wait for something that is not asked for yet, or it has another home. */
  ready(partition: number): void {
    const home = this.own(partition);
    const known = this.#rounds.get(partition);
    if (known !== undefined && known.home !== home) this.#end(known);
    if (home === undefined || home.far.size === 0 || this.#isEnded) return;
    const round = this.#rounds.get(partition) ?? new Round(partition, home);
    this.#rounds.set(partition, round);
    if (round.isReady) return;
    round.isReady = true;
    // Not in the middle of a step.
    this.clock.after(0, () => {
      round.isReady = false;
      this.#look(round);
    });
  }

  end(): void {
    this.#isEnded = true;
    for (const round of [...this.#rounds.values()]) this.#end(round);
  }

  #end(round: Round): void {
    if (this.#rounds.get(round.partition) === round) this.#rounds.delete(round.partition);
    for (const question of round.questions) question.end();
    round.questions.clear();
  }

  #isCurrent(round: Round): boolean {
    return this.#rounds.get(round.partition) === round && this.own(round.partition) === round.home;
  }

  #look(round: Round): void {
    if (this.#rounds.get(round.partition) !== round) return;
    if (!this.#isCurrent(round)) return this.#end(round);
    const { far } = round.home;
    for (const ref of far) {
      if (round.known.has(ref)) continue;
      round.known.add(ref);
      round.line.add(ref);
    }
    this.#callOffUnwanted(round, far);
    this.#askSome(round, far);
    if (far.size === 0) this.#end(round);
  }

  /** Their items are gone, or wait for nothing any more. */
  #callOffUnwanted(round: Round, far: ReadonlySet<ItemRef>): void {
    if (round.known.size === far.size) return;
    for (const ref of round.known) if (!far.has(ref)) round.forget(ref);
    for (const question of round.questions) if (!far.has(question.ref)) this.#over(round, question);
  }

  #askSome(round: Round, far: ReadonlySet<ItemRef>): void {
    let left = SLICE;
    for (const ref of round.line) {
      if (left <= 0) return this.ready(round.partition);
      round.line.delete(ref);
      if (far.has(ref)) left -= this.#ask(round, ref);
      else round.forget(ref);
    }
  }

  /** By the routes as they are now. @returns how many homes are asked */
  #ask(round: Round, ref: ItemRef): number {
    const { queue, itemId } = ref;
    const partitions = this.routes.now.map.all(queue);
    const question = new Question(ref, partitions.length);
    round.questions.add(question);
    question.callOff = this.clock.after(WAIT + PATIENCE, () => this.#again(round, question));
    for (const partition of partitions) {
      const home = this.homes.home(partition);
      if (home === undefined) {
        this.#heard(round, question, undefined);
        continue;
      }
      const pending = home.awaitItem(
        { queue, itemId, wait: WAIT },
        {
          answer: (answer) => {
            this.#heard(round, question, answer);
            return true;
          },
          refuse: () => this.#heard(round, question, undefined),
        },
      );
      question.pending.push(pending);
    }
    return partitions.length;
  }

  /** @param answer unset: it was refused, so nothing is known */
  #heard(round: Round, question: Question, answer: AwaitAnswer | undefined): void {
    if (question.isOver) return;
    question.left -= 1;
    if (answer === undefined) question.isRefused = true;
    else if (answer.state !== 'unknown') question.answer = answer;
    if (question.left > 0) return;
    // It may have been answered in the middle of a step of that core, which may be this one.
    question.callOff?.();
    question.callOff = this.clock.after(0, () => this.#answered(round, question));
  }

  #answered(round: Round, question: Question): void {
    const { answer, isRefused } = question;
    const end = endOf(answer);
    if (end === undefined || (answer === undefined && isRefused)) return this.#again(round, question, isRefused);
    this.#over(round, question);
    if (!this.#isCurrent(round)) return this.#end(round);
    round.forget(question.ref);
    round.home.farEnded(question.ref, end);
    this.ready(round.partition);
  }

  /** To the end of the line, where it was refused after a while. */
  #again(round: Round, question: Question, isRefused = true): void {
    this.#over(round, question);
    // Also one that said too early that it has not ended is not asked in a circle.
    const { ref } = question;
    const pause = isRefused ? (round.pauses.get(ref) ?? FIRST_PAUSE) : FIRST_PAUSE;
    if (isRefused) round.pauses.set(ref, Math.min(2 * pause, LONGEST_PAUSE));
    else round.pauses.delete(ref);
    this.clock.after(pause, () => {
      round.line.add(ref);
      this.#look(round);
    });
  }

  #over(round: Round, question: Question): void {
    question.end();
    round.questions.delete(question);
  }
}

/** Unset: it has not ended. */
function endOf(answer: AwaitAnswer | undefined): FarEnd | undefined {
  if (answer === undefined || answer.state === 'unknown') return 'forgotten';
  return answer.state === 'waiting' || answer.state === 'in_flight' ? undefined : answer.state;
}
