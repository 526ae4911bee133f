#!/usr/bin/env node
/** The command line: parse, pick a command, nothing else. */
import { Command, CommanderError } from 'commander';
import { bearClosedPipes } from './cli/closed-pipes.js';
import { EXIT, EXIT_CODES_HELP } from './cli/exit-codes.js';
import { CommandFailure } from './cli/failure.js';
import { packageVersion } from './cli/version.js';
import { harmlessLines } from './observability/harmless.js';

type Register = (program: Command) => void;

/** In the order of the help. Each is loaded when it is wanted: all of them take several times as long as one. */
const COMMANDS: Readonly<Record<string, () => Promise<Register>>> = {
  serve: async () => (await import('./cli/serve.js')).registerServe,
  run: async () => (await import('./cli/run.js')).registerRun,
  lead: async () => (await import('./cli/lead.js')).registerLead,
  leader: async () => (await import('./cli/leader.js')).registerLeader,
  submit: async () => (await import('./cli/submit.js')).registerSubmit,
  queues: async () => (await import('./cli/queues.js')).registerQueues,
  sessions: async () => (await import('./cli/sessions.js')).registerSessions,
  server: async () => (await import('./cli/server.js')).registerServer,
  cluster: async () => (await import('./cli/cluster.js')).registerCluster,
  keys: async () => (await import('./cli/keys.js')).registerKeys,
  explain: async () => (await import('./cli/explain.js')).registerExplain,
  item: async () => (await import('./cli/item.js')).registerItem,
  'dead-letters': async () => (await import('./cli/dead-letters.js')).registerDeadLetters,
  watch: async () => (await import('./cli/watch.js')).registerWatch,
  retry: async () => (await import('./cli/operate.js')).registerRetry,
  resume: async () => (await import('./cli/operate.js')).registerResume,
  pause: async () => (await import('./cli/operate.js')).registerPause,
  evict: async () => (await import('./cli/operate.js')).registerEvict,
  limits: async () => (await import('./cli/limits.js')).registerLimits,
  token: async () => (await import('./cli/token.js')).registerToken,
  data: async () => (await import('./cli/data.js')).registerData,
  store: async () => (await import('./cli/store-import.js')).registerStore,
  replay: async () => (await import('./cli/replay.js')).registerReplay,
  demo: async () => (await import('./cli/demo.js')).registerDemo,
};

const VERSION = ['-V', '--version'];

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
  return program;
}

function exitCodeOf(error: unknown): number {
  // The parser has said itself what is wrong. Help that was asked for ends here too.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  const known = error instanceof CommandFailure;
  const text = known ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`keyturn: ${harmlessLines(text)}\n`);
  return known ? error.exitCode : EXIT.failure;
}

bearClosedPipes();
try {
  await commandLine(await wanted(process.argv[2])).parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
}
