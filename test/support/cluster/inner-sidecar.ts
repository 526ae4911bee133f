/** A sidecar in the process of the test, with all of its parts, on real ports: for who neither kills it nor asks for its exit code. */
import { pino } from 'pino';
import { type Sidecar, startSidecar } from '../../../src/cli/serve/sidecar.js';
import { loadConfig } from '../../../src/config/config.js';
import { type Cleanup, put, temporaryFolder } from '../../cli/keyturn-process.js';

const TAIL = 40;
const DRAINED_WITHIN_MS = 10_000;

export class InnerSidecar {
  /** The end of what it logged. */
  readonly log: string[] = [];
  #sidecar: Sidecar | undefined;

  private constructor(private readonly config: string) {}

  /** @param settings YAML */
  static async make(cleanup: Cleanup, settings: string): Promise<InnerSidecar> {
    const made = new InnerSidecar(await put(await temporaryFolder(cleanup), 'keyturn.yaml', settings));
    cleanup.after(() => made.#sidecar?.stop());
    return made;
  }

  /** Known once it listens. */
  get address(): string {
    return this.#sidecar?.grpc ?? '';
  }

  /** Resolves when it serves. */
  async start(): Promise<void> {
    const flags = { config: this.config, listen: '127.0.0.1:0', httpListen: '127.0.0.1:0' };
    const log = pino({ base: null }, { write: (line: string) => this.#note(line) });
    const config = loadConfig(flags, { KEYTURN_CONSOLE_LISTEN: 'off' });
    this.#sidecar = await startSidecar(config, { log, version: 'test' });
    await this.untilServing();
  }

  async untilServing(): Promise<void> {
    await this.#sidecar?.ready;
  }

  /** Drains it. @returns as an exit code */
  async stop(): Promise<number> {
    await this.#sidecar?.drain(DRAINED_WITHIN_MS);
    this.#sidecar = undefined;
    return 0;
  }

  #note(line: string): void {
    this.log.push(line);
    if (this.log.length > TAIL) this.log.shift();
  }
}
