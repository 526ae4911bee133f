/** A command in the process of the test: its output, its exit code. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { Command, CommanderError } from 'commander';
import { EXIT } from '../../src/cli/exit-codes.js';
import { CommandFailure } from '../../src/cli/failure.js';

interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

type Output = 'stdout' | 'stderr';

const running = new AsyncLocalStorage<Record<Output, string>>();
/** The runner reports through the same outputs: only what the command writes is taken. */
for (const name of ['stdout', 'stderr'] as const) {
  const write = process[name].write.bind(process[name]);
  Object.defineProperty(process[name], 'write', {
    value: (...args: Parameters<typeof write>) => {
      const [text] = args;
      const outputs = running.getStore();
      if (outputs === undefined || typeof text !== 'string') return write(...args);
      outputs[name] += text;
      return true;
    },
  });
}

/**
 * @param register adds the command, or its group
 * @param args the words after `keyturn`
 */
export async function commandHere(register: (program: Command) => void, args: readonly string[]): Promise<Finished> {
  const outputs = { stdout: '', stderr: '' };
  const before = process.exitCode;
  const code = await running.run(outputs, () => exitCodeOf(register, args, outputs));
  process.exitCode = before;
  return { code, ...outputs };
}

async function exitCodeOf(
  register: (program: Command) => void,
  args: readonly string[],
  outputs: Record<Output, string>,
): Promise<number> {
  const program = new Command('keyturn').enablePositionalOptions().exitOverride();
  register(program);
  process.exitCode = EXIT.ok;
  try {
    await program.parseAsync(args, { from: 'user' });
    return Number(process.exitCode);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    if (error instanceof CommandFailure) outputs.stderr += `keyturn: ${error.message}\n`;
    if (error instanceof Error && 'exitCode' in error && typeof error.exitCode === 'number') return error.exitCode;
    throw error;
  }
}
