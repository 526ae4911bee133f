/** Words that a command refuses, in this process: nothing but the command line is loaded, and no process is started. */
import { Command, CommanderError } from 'commander';
import { EXIT } from '../../src/cli/exit-codes.js';
import { CommandFailure } from '../../src/cli/failure.js';

interface Refusal {
  readonly exitCode: number;
  readonly message: string;
}

/** @param words the command and what follows it. @returns what it says; of help that is asked for, too. @throws when it does not refuse them */
export async function refusalOf(register: (program: Command) => void, words: readonly string[]): Promise<Refusal> {
  const said: string[] = [];
  const program = new Command('keyturn').enablePositionalOptions().exitOverride();
  program.configureOutput({ writeErr: (text) => said.push(text), writeOut: (text) => said.push(text) });
  register(program);
  try {
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    if (error instanceof CommandFailure) return { exitCode: error.exitCode, message: error.message };
    if (error instanceof CommanderError) {
      const exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
      return { exitCode, message: said.join('') };
    }
    throw error;
  }
  throw new Error(`it was not refused: ${words.join(' ')}`);
}
