/** The homes of one process, recounted from the inside: each by itself, and what they use together. */
import type {
  CoordinatorSettings,
  DeliverAnswer,
  DeliverRequest,
  Refusal,
  Reply,
  Result,
  Session,
  SessionListener,
  SubmitRequest,
} from '../../src/coordinator.js';
import { type Core, SharedUse } from '../../src/core/core.js';
import { HomeCoordinator, type HomeOptions } from '../../src/local/home.js';
import { InNames } from './in-names.js';
import { recount } from './recount.js';
import { recountShared } from './recount-shared.js';

/** What all homes of a process use together, and who is to be recounted. */
export class RecountedHomes {
  readonly #shared = new SharedUse();
  readonly #homes = new Set<RecountedHome>();
  #left: number;

  /**
   * @param every after so many steps of all homes, whichever has the last of them
   * @param hears what is not the same twice, and that all was looked at
   */
  constructor(
    private readonly every: number,
    private readonly hears: {
      broken(what: string): void;
      recounted(): void;
      /** Whatever a test does to a core before another partition brings it something. */
      beforeDeliver?(core: Core): void;
      /** Whatever a test makes of a Submit before the core has it. */
      readonly submits?: ((request: SubmitRequest) => SubmitRequest) | undefined;
    },
  ) {
    this.#left = every;
  }

  make(settings: CoordinatorSettings, options: HomeOptions): HomeCoordinator {
    const beforeDeliver = this.hears.beforeDeliver?.bind(this.hears);
    const shared = this.#shared;
    const { submits } = this.hears;
    const home = new RecountedHome(settings, { ...options, shared }, () => this.#stepped(), beforeDeliver, submits);
    this.#homes.add(home);
    return home;
  }

  #stepped(): void {
    this.#left -= 1;
    if (this.#left > 0) return;
    this.#left = this.every;
    try {
      this.#recount();
      this.hears.recounted();
    } catch (error) {
      this.hears.broken(error instanceof Error ? `${error.message}\n${error.stack}` : String(error));
    }
  }

  #recount(): void {
    const joined: RecountedHome[] = [];
    for (const home of this.#homes) {
      if (home.core.inside.share !== undefined) joined.push(home);
      else if (home.isEnded) this.#homes.delete(home);
    }
    for (const home of joined) home.recount();
    recountShared(this.#shared, joined);
  }
}

class RecountedHome extends HomeCoordinator {
  readonly #names = new InNames();

  constructor(
    settings: CoordinatorSettings,
    options: HomeOptions,
    stepped: () => void,
    private readonly beforeDeliver: ((core: Core) => void) | undefined,
    private readonly submits: ((request: SubmitRequest) => SubmitRequest) | undefined,
  ) {
    super(settings, options);
    this.#names.charge(this);
    const { loop } = this;
    const afterStep = loop.afterStep.bind(loop);
    loop.afterStep = () => {
      afterStep();
      stepped();
    };
  }

  override openSession(listener: SessionListener): Result<Session> {
    const opened = super.openSession(listener);
    return opened.ok ? { ok: true, value: this.#names.charge(opened.value) } : opened;
  }

  override deliver(request: DeliverRequest, reply: Reply<DeliverAnswer>): void {
    this.beforeDeliver?.(this.core);
    super.deliver(request, reply);
  }

  override askBy(places: (request: SubmitRequest) => SubmitRequest | Refusal, onFar: () => void): void {
    const { submits } = this;
    super.askBy((request) => places(submits === undefined ? request : submits(request)), onFar);
  }

  get core(): Core {
    return this.loop.core;
  }

  /** It was given up, or closed, and uses nothing any more. */
  get isEnded(): boolean {
    return this.loop.isEnded;
  }

  /** To be called between two steps. */
  recount(): void {
    recount(this.core.inside, this.loop.now());
  }
}
