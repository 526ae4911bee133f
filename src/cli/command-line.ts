/** The command line: parses, runs one command, and answers with its exit code. */
import { Command, CommanderError } from 'commander';
import { formatDuration } from '../config/duration.js';
import { harmlessLines } from '../observability/harmless.js';
import { CommandResult } from './action.js';
import { EXIT, EXIT_CODES_HELP } from './exit-codes.js';
import { CommandFailure } from './failure.js';
import { packageVersion } from './version.js';

type Register = (program: Command) => void;

/** In the order of the help. Each is loaded when it is wanted: all of them take several times as long as one. */
const COMMANDS: Readonly<Record<string, () => Promise<Register>>> = {
  serve: async () => (await import('./serve.js')).registerServe,
  run: async () => (await import('./run.js')).registerRun,
  lead: async () => (await import('./lead.js')).registerLead,
  leader: async () => (await import('./leader.js')).registerLeader,
  submit: async () => (await import('./submit.js')).registerSubmit,
  queues: async () => (await import('./queues.js')).registerQueues,
  sessions: async () => (await import('./sessions.js')).registerSessions,
  server: async () => (await import('./server.js')).registerServer,
  cluster: async () => (await import('./cluster.js')).registerCluster,
  keys: async () => (await import('./keys.js')).registerKeys,
  explain: async () => (await import('./explain.js')).registerExplain,
  item: async () => (await import('./item.js')).registerItem,
  'dead-letters': async () => (await import('./dead-letters.js')).registerDeadLetters,
  watch: async () => (await import('./watch.js')).registerWatch,
  retry: async () => (await import('./operate.js')).registerRetry,
  resume: async () => (await import('./operate.js')).registerResume,
  pause: async () => (await import('./operate.js')).registerPause,
  evict: async () => (await import('./operate.js')).registerEvict,
  limits: async () => (await import('./limits.js')).registerLimits,
  token: async () => (await import('./token.js')).registerToken,
  data: async () => (await import('./data.js')).registerData,
  store: async () => (await import('./store-import.js')).registerStore,
  replay: async () => (await import('./replay.js')).registerReplay,
  demo: async () => (await import('./demo.js')).registerDemo,
};

const VERSION = ['-V', '--version'];

/**
 * Runs one command in this process.
 *
 * @param argv the words after `keyturn`
 * @returns the exit code; of `serve` when the sidecar listens, which goes on then
 */
export async function runCommand(argv: readonly string[]): Promise<number> {
  try {
    await commandLine(await wanted(argv[0])).parseAsync(argv, { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    return exitCodeOf(error);
  }
}

/** The one that the first word names; without such a word all: for the help, or to say what was meant. */
async function wanted(word: string | undefined): Promise<readonly Register[]> {
  if (word !== undefined && VERSION.includes(word)) return [];
  const one = word !== undefined && Object.hasOwn(COMMANDS, word) ? COMMANDS[word] : undefined;
  return Promise.all((one === undefined ? Object.values(COMMANDS) : [one]).map((load) => load()));
}

function commandLine(commands: readonly Register[]): Command {
  const program = new Command('keyturn')
    .description('Gives every key its turn: one worker per key at a time, in order, without doing the same work twice.')
    .version(packageVersion(), VERSION.join(', '))
    .addHelpText('after', EXIT_CODES_HELP)
    .showHelpAfterError('(--help tells more)')
    // `run` passes what follows its own options on to the command that it starts.
    .enablePositionalOptions()
    // Before the commands: they take it over when they are made. Without it a wrong option would exit with 1.
    .exitOverride();
  for (const register of commands) register(program);
  program.commands.forEach(showDurations);
  return program;
}

/** Help shows a default as the option takes it: `10s`, and not the milliseconds that it stands for. */
function showDurations(command: Command): void {
  for (const option of command.options) {
    const { defaultValue: value }: { defaultValue?: unknown } = option;
    if (typeof value === 'number' && option.flags.includes('<duration>')) option.default(value, formatDuration(value));
  }
  command.commands.forEach(showDurations);
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommandResult) return error.exitCode;
  // The parser has said itself what is wrong. Help that was asked for ends here too.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  const known = error instanceof CommandFailure;
  const text = known ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`keyturn: ${harmlessLines(text)}\n`);
  return known ? error.exitCode : EXIT.failure;
}
