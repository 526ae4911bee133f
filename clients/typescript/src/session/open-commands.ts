import { KeyturnError } from '../errors.js';
import { type Command, WorkerCommand } from './command.js';

/** The largest id: ids are uint32 on the wire. 0 is never one, so that it can name nothing. */
const LAST_ID = 0xff_ff_ff_ff;

export interface OpenLimits {
  /** Calls that are not answered yet. */
  readonly commands: number;
  /** What they take on the wire together: they are kept until they are answered, because they may have to be sent again. */
  readonly bytes: number;
}

/** Calls that end or keep turns find this much more room: without them nothing would ever be answered. */
const BEYOND = 1.125;

export const DEFAULT_OPEN_LIMITS: OpenLimits = { commands: 100_000, bytes: 256 * 1_048_576 };

/** Commands without their answer, in the order in which they were asked. No two have the same id. */
export class OpenCommands {
  readonly #byId = new Map<number, Command>();
  #workers = 0;
  #bytes = 0;

  constructor(
    private readonly limits: OpenLimits,
    private lastId = 0,
  ) {}

  /** Calls of the application, those included that it waits for no more. */
  get workers(): number {
    return this.#workers;
  }

  /** What stands against one more call of the application. */
  refusal(command: WorkerCommand): KeyturnError | undefined {
    const { bytes } = this.limits;
    const commands = Math.ceil(this.limits.commands * (command.keepsOrEnds ? BEYOND : 1));
    if (this.#workers >= commands)
      return tooMany(`${this.#workers} calls are open; at most ${commands} may be (openCommands)`);
    if (this.#bytes + command.bytes > bytes)
      return tooMany(`open calls take ${this.#bytes} bytes, this one ${command.bytes}; at most ${bytes} (openBytes)`);
    return undefined;
  }

  add(command: Command): void {
    command.id = this.#nextId();
    this.#byId.set(command.id, command);
    if (!(command instanceof WorkerCommand)) return;
    this.#workers += 1;
    this.#bytes += command.bytes;
  }

  has(command: Command): boolean {
    return this.#byId.get(command.id) === command;
  }

  /** @returns the command with this id, which is open no more */
  take(id: number): Command | undefined {
    const command = this.#byId.get(id);
    if (command !== undefined) this.remove(command);
    return command;
  }

  remove(command: Command): void {
    if (!this.#byId.delete(command.id) || !(command instanceof WorkerCommand)) return;
    this.#workers -= 1;
    this.#bytes -= command.bytes;
  }

  all(): IterableIterator<Command> {
    return this.#byId.values();
  }

  *ofWorkers(): Generator<WorkerCommand> {
    for (const command of this.#byId.values()) if (command instanceof WorkerCommand) yield command;
  }

  #nextId(): number {
    do this.lastId = this.lastId === LAST_ID ? 1 : this.lastId + 1;
    while (this.#byId.has(this.lastId));
    return this.lastId;
  }
}

function tooMany(message: string): KeyturnError {
  return new KeyturnError(message, 'RESOURCE_EXHAUSTED');
}
