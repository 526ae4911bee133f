/** A member in the process of the test, beside members that are killed: it starts when the world says so, and drains. */
import { type Cleanup, put, temporaryFolder } from '../../cli/keyturn-process.js';
import { SidecarHere } from '../sidecar-here.js';

const TAIL = 40;
const DRAINED_WITHIN_MS = 10_000;

export class InnerSidecar {
  #sidecar: SidecarHere | undefined;

  private constructor(
    private readonly cleanup: Cleanup,
    private readonly config: string,
  ) {}

  /** @param settings YAML */
  static async make(cleanup: Cleanup, settings: string): Promise<InnerSidecar> {
    return new InnerSidecar(cleanup, await put(await temporaryFolder(cleanup), 'keyturn.yaml', settings));
  }

  /** Known once the sidecar listens. */
  get address(): string {
    return this.#sidecar?.address('grpc') ?? '';
  }

  /** The last lines. */
  get log(): readonly string[] {
    return this.#sidecar?.lines.slice(-TAIL).map((line) => JSON.stringify(line)) ?? [];
  }

  /** Resolves when the sidecar serves. */
  async start(): Promise<void> {
    const sidecar = await SidecarHere.startWith(this.cleanup, { config: this.config });
    this.#sidecar = sidecar;
    await sidecar.ready();
  }

  async untilServing(): Promise<void> {
    await this.#sidecar?.ready();
  }

  /** Drains it. @returns as an exit code */
  async stop(): Promise<number> {
    await this.#sidecar?.drain(DRAINED_WITHIN_MS);
    return 0;
  }
}
