import { Buffer } from 'node:buffer';
import { type Command, InvalidArgumentError } from 'commander';

/** Why somebody changes something. */
export interface Reasoned {
  readonly reason?: string | undefined;
}

/** As the sidecar takes it. */
const MOST_BYTES = 256;

/** Of a command that changes something. */
export function reasonOption(command: Command): Command {
  return command.option('--reason <text>', "why, for the sidecar's audit", reason);
}

function reason(text: string): string {
  if (Buffer.byteLength(text) > MOST_BYTES) throw new InvalidArgumentError(`Allowed: up to ${MOST_BYTES} bytes.`);
  return text;
}
