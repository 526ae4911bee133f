/**
 * A modest load without end over several queues (`settings.ts`): everything that a metric counts happens every few
 * seconds. For those who look at metrics, alerts and dashboards:
 *
 *     const load = startLoad(address);
 *     …
 *     await load.stop();
 *
 * It goes on while the sidecar is away. By itself: `node dist/test/load/main.js`.
 */
import { setMaxListeners } from 'node:events';
import { connect, type Keyturn, KeyturnError, type TlsOptions, TurnLostError } from '@keyturn/client';
import { SCENES, type Scene, type Stage } from './scenes.js';

export interface LoadOptions {
  readonly tls?: TlsOptions | undefined;
  /** Pauses are this many times as long: 2 is half the load. Default 1. */
  readonly slower?: number | undefined;
}

export interface Load {
  /** Rounds that were done, by scene. */
  readonly rounds: ReadonlyMap<string, number>;
  /** What was refused or did not come through, by what was said: most of it is meant to be. */
  readonly troubles: ReadonlyMap<string, number>;
  /** Resolves when nothing of it is left. */
  stop(): Promise<void>;
}

const QUIET = { warn: () => undefined, info: () => undefined };

export function startLoad(address: string, options: LoadOptions = {}): Load {
  return new RunningLoad(address, options);
}

class RunningLoad implements Load {
  readonly rounds = new Map<string, number>();
  readonly troubles = new Map<string, number>();
  readonly #stopped = new AbortController();
  readonly #clients: readonly Keyturn[];
  readonly #done: Promise<unknown>;

  constructor(
    address: string,
    private readonly options: LoadOptions,
  ) {
    const open = (transport: 'session' | 'unary') =>
      connect(address, {
        transport,
        tls: options.tls,
        sessionTtl: 2_000,
        consumerId: `load-${transport}`,
        logger: QUIET,
      });
    const stage: Stage = { session: open('session'), unary: open('unary'), signal: this.#stopped.signal };
    this.#clients = [stage.session, stage.unary];
    // Every scene listens to it, and none for long.
    setMaxListeners(0, this.#stopped.signal);
    this.#done = Promise.all(SCENES.map((scene) => this.#play(scene, stage)));
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await Promise.all(this.#clients.map((client) => client.close({ timeout: 500 })));
    await this.#done;
  }

  async #play(scene: Scene, stage: Stage): Promise<void> {
    const { signal } = this.#stopped;
    for (let round = 0; !signal.aborted; round += 1) {
      try {
        await scene.round(stage, round);
        this.#count(this.rounds, scene.name);
      } catch (error) {
        if (!isExpected(error) && !signal.aborted) throw error;
        this.#count(this.troubles, `${scene.name}: ${what(error)}`);
      }
      await pause(scene.every * (this.options.slower ?? 1), signal);
    }
  }

  #count(counts: Map<string, number>, name: string): void {
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
}

/** A refusal, a turn that was lost: what a load lives with. Anything else is a mistake in it. */
function isExpected(error: unknown): boolean {
  return error instanceof KeyturnError || error instanceof TurnLostError;
}

function what(error: unknown): string {
  if (error instanceof KeyturnError) return error.reason ?? error.code;
  return error instanceof Error ? error.name : String(error);
}

/** Ends early when it is stopped. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
}
