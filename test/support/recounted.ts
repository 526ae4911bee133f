/** The embedded coordinator, recounted from the inside. */
import type { CoordinatorSettings, Result, Session, SessionListener } from '../../src/coordinator.js';
import { LocalCoordinator, type LocalOptions } from '../../src/local/coordinator.js';
import { InNames } from './in-names.js';
import { recount } from './recount.js';

/** Throws where something that is kept twice is not the same twice, or somebody stands at an open gate. */
export class RecountedCoordinator extends LocalCoordinator {
  readonly #names = new InNames();

  /** @param every by itself after each so many steps: where there are hundreds of thousands, each would be too many */
  constructor(settings: CoordinatorSettings, options: LocalOptions, every = Number.POSITIVE_INFINITY) {
    super(settings, options);
    this.#names.charge(this);
    const { loop } = this;
    const afterStep = loop.afterStep.bind(loop);
    let left = every;
    loop.afterStep = () => {
      afterStep();
      left -= 1;
      if (left > 0) return;
      left = every;
      this.recount();
    };
  }

  override openSession(listener: SessionListener): Result<Session> {
    const opened = super.openSession(listener);
    return opened.ok ? { ok: true, value: this.#names.charge(opened.value) } : opened;
  }

  /** To be called between two steps. */
  recount(): void {
    recount(this.loop.core.inside, this.loop.now());
  }
}
