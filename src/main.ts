#!/usr/bin/env node
/** The command line: parse, pick a command, nothing else. */
import { Command, CommanderError } from 'commander';
import { bearClosedPipes } from './cli/closed-pipes.js';
import { registerCluster } from './cli/cluster.js';
import { registerData } from './cli/data.js';
import { registerDeadLetters } from './cli/dead-letters.js';
import { registerDemo } from './cli/demo.js';
import { EXIT, EXIT_CODES_HELP } from './cli/exit-codes.js';
import { registerExplain } from './cli/explain.js';
import { CommandFailure } from './cli/failure.js';
import { registerKeys } from './cli/keys.js';
import { registerLead } from './cli/lead.js';
import { registerLeader } from './cli/leader.js';
import { registerLimits } from './cli/limits.js';
import { registerEvict, registerPause, registerResume, registerRetry } from './cli/operate.js';
import { registerQueues } from './cli/queues.js';
import { registerReplay } from './cli/replay.js';
import { registerRun } from './cli/run.js';
import { registerServe } from './cli/serve.js';
import { registerStore } from './cli/store-import.js';
import { registerSubmit } from './cli/submit.js';
import { packageVersion } from './cli/version.js';
import { registerWatch } from './cli/watch.js';
import { harmlessLines } from './observability/harmless.js';

/** In the order of the help. */
const COMMANDS: readonly ((program: Command) => void)[] = [
  registerServe,
  registerRun,
  registerLead,
  registerLeader,
  registerSubmit,
  registerQueues,
  registerCluster,
  registerKeys,
  registerExplain,
  registerDeadLetters,
  registerWatch,
  registerRetry,
  registerResume,
  registerPause,
  registerEvict,
  registerLimits,
  registerData,
  registerStore,
  registerReplay,
  registerDemo,
];

function commandLine(): Command {
  const program = new Command('keyturn')
    .description('Gives every key its turn: one worker per key at a time, in order, without doing the same work twice.')
    .version(packageVersion(), '-V, --version')
    .addHelpText('after', EXIT_CODES_HELP)
    .showHelpAfterError('(--help tells more)')
    // `run` passes what follows its own options on to the command that it starts.
    .enablePositionalOptions()
    // Before the commands: they take it over when they are made. Without it a wrong option would exit with 1.
    .exitOverride();
  for (const register of COMMANDS) register(program);
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
  await commandLine().parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
}
