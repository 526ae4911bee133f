/** Runs the programs that a release is made of. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** Of what a failed program said, characters that are shown: the end. */
const LAST_WORDS = 4_000;

export interface Run {
  readonly program: string;
  readonly args: readonly string[];
  readonly folder: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** A program failed, or is not there. */
export class ProgramError extends Error {
  override readonly name = 'ProgramError';
}

/** @returns what it said on its output @throws ProgramError with the end of what it said */
export async function run({ program, args, folder, environment = {} }: Run): Promise<string> {
  try {
    const { stdout } = await execute(program, args, {
      cwd: folder,
      env: { ...process.env, ...environment },
      maxBuffer: 64 * 1_048_576,
    });
    return stdout;
  } catch (error) {
    throw new ProgramError(`${program} ${args.join(' ')}: ${wordsOf(error)}`);
  }
}

function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ('code' in error && error.code === 'ENOENT') return 'there is no such program';
  const said = ['stdout', 'stderr'].map((name) => Reflect.get(error, name)).filter((text) => typeof text === 'string');
  return `${error.message.split('\n')[0]}\n${said.join('\n').trim().slice(-LAST_WORDS)}`;
}
