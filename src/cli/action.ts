/** Exit code of a command that has run. Thrown, because commander discards the return value of an action. */
export class CommandResult extends Error {
  override readonly name = 'CommandResult';
  constructor(readonly exitCode: number) {
    super(`exit code ${exitCode}`);
  }
}

/** Runs the body of a command and hands its exit code to `runCommand`, which also reports its errors. */
export async function act(body: () => Promise<number>): Promise<never> {
  throw new CommandResult(await body());
}

const NUMBERS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** Signals that ask a command to end: the first one aborts, a second one ends the process at once. */
export class StopSignals {
  readonly #controller = new AbortController();
  readonly #handlers = new Map<keyof typeof NUMBERS, () => void>();
  #exitCode: number | undefined;

  constructor(onStop: () => void = () => {}) {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      const handler = () => this.#receive(NUMBERS[signal], onStop);
      this.#handlers.set(signal, handler);
      process.on(signal, handler);
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** 128 and the number of the signal that came; unset: none did. */
  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  release(): void {
    for (const [signal, handler] of this.#handlers) process.off(signal, handler);
  }

  #receive(code: number, onStop: () => void): void {
    if (this.#exitCode !== undefined) process.exit(code);
    this.#exitCode = code;
    onStop();
    this.#controller.abort();
  }
}
