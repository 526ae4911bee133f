/** Words that a command refuses, in this process: nothing but the command line is loaded, and no process is started. */
import { Command, CommanderError } from 'commander';
import { EXIT } from '../../src/cli/exit-codes.js';
import { CommandFailure } from '../../src/cli/failure.js';

interface Refusal {
  readonly exitCode: number;
  readonly message: string;
}

/** @param words the command and what follows it. @throws when the command does not refuse them */
export async function refusalOf(register: (program: Command) => void, words: readonly string[]): Promise<Refusal> {
  const errors: string[] = [];
  const program = new Command('keyturn').enablePositionalOptions().exitOverride();
  program.configureOutput({ writeErr: (text) => errors.push(text), writeOut: (text) => errors.push(text) });
  register(program);
  try {
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    if (error instanceof CommandFailure) return { exitCode: error.exitCode, message: error.message };
    if (error instanceof CommanderError) return { exitCode: EXIT.usage, message: errors.join('') };
    throw error;
  }
  throw new Error(`it was not refused: ${words.join(' ')}`);
}
