import { KeyturnError } from '../words/errors.js';
import { type Command, WorkerCommand } from './command.js';

export interface OpenLimits {
  /** Calls that are not answered yet. */
  readonly commands: number;
  /** What they take on the wire together: they are kept until they are answered, because they may have to be sent again. */
  readonly bytes: number;
}

/** Calls that end or keep turns find this much more room: without them nothing would ever be answered. */
const BEYOND = 1.125;

export const DEFAULT_OPEN_LIMITS: OpenLimits = { commands: 100_000, bytes: 256 * 1_048_576 };

/**
 * Commands without their answer. No two have the same id; an id is used again when its command is open no more: whoever
 * lets go of a command that was sent has its answer, or gives up the stream.
 *
 * Ids are places in an array, not keys of a Map: a Map in which much comes and goes is rebuilt all the time, and each
 * table that it leaves behind, once it is old, keeps all that it held from being freed as young garbage.
 */
export class OpenCommands {
  /** By id. 0 is never one, so that it can name nothing. */
  readonly #places: (Command | undefined)[] = [undefined];
  readonly #free: number[] = [];
  #asked = 0;
  #workers = 0;
  #bytes = 0;

  constructor(private readonly limits: OpenLimits) {}

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
    command.id = this.#free.pop() ?? this.#places.length;
    this.#asked += 1;
    command.place = this.#asked;
    this.#places[command.id] = command;
    if (!(command instanceof WorkerCommand)) return;
    this.#workers += 1;
    this.#bytes += command.bytes;
  }

  has(command: Command): boolean {
    return this.#places[command.id] === command;
  }

  /** @returns the command with this id, which is open no more */
  take(id: number): Command | undefined {
    const command = this.#places[id];
    if (command !== undefined) this.remove(command);
    return command;
  }

  remove(command: Command): void {
    if (!this.has(command)) return;
    this.#places[command.id] = undefined;
    this.#free.push(command.id);
    if (!(command instanceof WorkerCommand)) return;
    this.#workers -= 1;
    this.#bytes -= command.bytes;
  }

  /** In the order in which they were asked. */
  all(): readonly Command[] {
    return this.#places.filter((command) => command !== undefined).sort((a, b) => a.place - b.place);
  }

  /** Those of the application, in the order in which they were asked. */
  workersInOrder(): readonly WorkerCommand[] {
    return this.all().filter((command) => command instanceof WorkerCommand);
  }

  some(fits: (command: Command) => boolean): boolean {
    return this.#places.some((command) => command !== undefined && fits(command));
  }

  /** In no order. */
  *ofWorkers(): Generator<WorkerCommand> {
    for (const command of this.#places) if (command instanceof WorkerCommand) yield command;
  }
}

function tooMany(message: string): KeyturnError {
  return new KeyturnError(message, 'RESOURCE_EXHAUSTED');
}
