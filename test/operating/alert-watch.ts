/** Which alerts fire, asked of Prometheus again and again. */
import type { Prometheus } from '../grafana/prometheus.js';

export type Labels = Readonly<Record<string, string>>;

/** ms */
const EVERY = 300;

export class AlertWatch {
  #firing: readonly Labels[] = [];
  #stopped = false;
  /** Why Prometheus did not answer. Unset: it did. */
  #silent: string | undefined;
  readonly #listeners = new Set<() => void>();
  readonly #done: Promise<void>;

  constructor(private readonly prometheus: Prometheus) {
    this.#done = this.#look();
  }

  isFiring(wanted: Labels): boolean {
    return this.#firing.some((labels) => Object.entries(wanted).every(([name, value]) => labels[name] === value));
  }

  /** Resolves when one with these labels fires, or none does any more. @throws after `limit` ms */
  until(wanted: Labels, fires: boolean, limit: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void) => {
        clearTimeout(timer);
        this.#listeners.delete(look);
        settle();
      };
      const look = () => {
        if (this.isFiring(wanted) === fires) finish(resolve);
      };
      const timer = setTimeout(() => finish(() => reject(new Error(this.#inVain(wanted, fires, limit)))), limit);
      this.#listeners.add(look);
      look();
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#done;
  }

  #inVain(wanted: Labels, fires: boolean, limit: number): string {
    const others = this.#firing.map(
      (labels) => `${labels['alertname']} ${labels['instance']} ${labels['queue'] ?? ''}`,
    );
    return `${JSON.stringify(wanted)} ${fires ? 'did not fire' : 'did not resolve'} within ${limit / 1_000} s; ${this.#silent ?? 'firing are:'}\n${others.join('\n')}`;
  }

  async #look(): Promise<void> {
    while (!this.#stopped) {
      await this.prometheus.firing().then(
        (firing) => {
          this.#firing = firing;
          this.#silent = undefined;
        },
        // It is busy, or ends: it is asked again, and who waits in vain is told.
        (error: unknown) => {
          this.#silent = String(error);
        },
      );
      for (const listener of this.#listeners) listener();
      await new Promise((resolve) => setTimeout(resolve, EVERY));
    }
  }
}
