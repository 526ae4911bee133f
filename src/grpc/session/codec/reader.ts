/**
 * The commands of a message, decoded one by one: a message of 4 MiB can hold two million, which would take thirty times
 * its size if all were decoded before the first is run.
 */
import { BinaryReader } from '@bufbuild/protobuf/wire';
import * as wire from '../../gen/keyturn/v1/coordinator.js';
import type { Command, FastDecoder } from './fast-decoder.js';

/** Field 1 of a SessionRequest, as bytes. */
const COMMANDS = (1 << 3) | 2;
const WIRE_TYPE = 7;

export class Commands {
  readonly #reader: BinaryReader;
  /** Of the command that was returned last. */
  index = -1;

  constructor(
    private readonly message: Buffer,
    private readonly decoder: FastDecoder,
  ) {
    this.#reader = new BinaryReader(message);
  }

  get isAtEnd(): boolean {
    return this.#reader.pos >= this.#reader.len;
  }

  /** Throws when the bytes are no message. */
  next(): Command | undefined {
    const reader = this.#reader;
    while (reader.pos < reader.len) {
      const tag = reader.uint32();
      if (tag === COMMANDS) {
        const command = this.#command(reader.uint32());
        this.index += 1;
        return command;
      }
      if (tag >>> 3 === 0) throw new RangeError('no field has the number 0');
      // A field of another version.
      reader.skip(tag & WIRE_TYPE, tag >>> 3);
    }
    return undefined;
  }

  #command(length: number): Command {
    const reader = this.#reader;
    const end = reader.pos + length;
    const command = this.decoder.read(this.message, reader.pos, end);
    if (command === undefined) return wire.Command.decode(reader, length);
    reader.pos = end;
    return command;
  }
}
