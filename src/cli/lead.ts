/** `keyturn lead`: a command that runs only while this process leads its group. */
import { hostname } from 'node:os';
import type { Keyturn, Leadership } from '@keyturn/client';
import type { Command } from 'commander';
import { pastedCommand } from '../core/contract/pasted-command.js';
import { harmlessLines } from '../observability/harmless.js';
import { act, StopSignals } from './action.js';
import { EXIT } from './exit-codes.js';
import { CommandFailure } from './failure.js';
import { CommandCareer } from './lead/command-career.js';
import { StateFile } from './lead/state-file.js';
import { durationBetween, type SidecarOptions, sidecarOptions, text } from './options.js';
import { humanDuration } from './output.js';
import { withSidecar } from './sidecar.js';

interface LeadOptions extends SidecarOptions {
  readonly group: string;
  readonly inaugurate?: string;
  readonly handOver?: string;
  readonly ttl: number;
  readonly handOverTimeout: number;
  readonly killAfter?: number;
  readonly once?: boolean;
}

const HELP = `
The command runs only while this process leads the group, in a process group of its own, and finds in its environment:
  KEYTURN_GROUP, KEYTURN_TERM  the group, and the term: larger than every earlier one. Give it to what the command writes to.
  KEYTURN_PREDECESSOR, KEYTURN_PREDECESSOR_HOW  who led before, and how that ended: NONE, HANDED_OVER or LOST
  KEYTURN_STATE_FILE  what the last hand-over left; what stands in it at the end is given to the next leader, up to 64 KiB

Ctrl-C, SIGTERM and "keyturn leader <group> --yield" ask for a hand-over: the command gets SIGTERM and has --hand-over-timeout
to end. When the term is lost, or the sidecar is silent, it gets SIGTERM in time, and SIGKILL --kill-after later: before the
term can begin elsewhere. The same happens at once when keyturn itself is killed, and at a second Ctrl-C. What the command has
started ends with it. A command that ends is a yield; with another code than 0 it is started again after a back-off only,
and one that ends at once no more often than once a second.

Exit codes: 128 + n when signal n ended it; with --once that of the command, that of --hand-over when it failed, or
  ${EXIT.notMyTurn}  somebody else leads, or the hand-over was asked for before the command began
  ${EXIT.turnLost}  the term was lost

Examples:
  $ keyturn lead --group backup -- ./backup.sh
  $ keyturn lead --group feed --inaugurate ./load-offset.sh --hand-over ./save-offset.sh -- ./consume.sh
`;

const HOUR = 3_600_000;
/** What goes wrong in a career is said by the career. */
const SAID_ALREADY = { warn: () => {} };

export function registerLead(program: Command): void {
  const command = program
    .command('lead')
    .summary('run a command while this process leads a group')
    .description('Stands in a group in which exactly one process leads, and runs a command while it is this one.')
    .usage('--group <group> [options] -- <command> [args...]')
    .argument('<command...>', 'the command and its arguments, after --')
    .passThroughOptions()
    .requiredOption('--group <group>', 'the group', text)
    .option('--inaugurate <command>', 'run by sh -c before the command: prepare', text)
    .option('--hand-over <command>', 'run by sh -c after the command: leave the state', text)
    .option(
      '--ttl <duration>',
      'how long a term lives when this process is silent',
      durationBetween(500, HOUR, '500ms to 1h'),
      5_000,
    )
    .option(
      '--hand-over-timeout <duration>',
      'how long the command and --hand-over may take to end',
      durationBetween(100, 24 * HOUR, '100ms to 24h'),
      10_000,
    )
    .option(
      '--kill-after <duration>',
      'from SIGTERM to SIGKILL when the term is lost, up to half of --ttl; unset: a third of it',
      durationBetween(0, HOUR / 2, '0s to 30m'),
    )
    .option('--once', 'only one term, and only if nobody else leads');
  sidecarOptions(command)
    .addHelpText('after', HELP)
    .action((words: string[], options: LeadOptions) => act(() => lead(words, options)));
}

async function lead(command: readonly string[], options: LeadOptions): Promise<number> {
  const killAfter = options.killAfter ?? options.ttl / 3;
  if (killAfter > options.ttl / 2) {
    const most = humanDuration(options.ttl / 2);
    const text = `--kill-after ${humanDuration(killAfter)} is too long for --ttl ${humanDuration(options.ttl)}; allowed: up to half of it, ${most}`;
    throw new CommandFailure(text, EXIT.usage);
  }
  const stop = new StopSignals();
  // Suspended alone, it could not stop the command in time.
  const stay = () => say('not suspended: the command would run on');
  process.on('SIGTSTP', stay);
  const stateFile = await StateFile.make();
  try {
    const lead = async (client: Keyturn) => {
      // A person who forgot to start a sidecar shall be told at once.
      await client.admin.getLeader(options.group);
      return new Lead(client, options, killAfter, stateFile, stop).run(command);
    };
    return await withSidecar(options, lead, SAID_ALREADY);
  } finally {
    process.off('SIGTSTP', stay);
    stop.release();
    await stateFile.remove();
  }
}

class Lead {
  #leadership: Leadership | undefined;
  #exitCode: number | undefined;

  constructor(
    private readonly client: Keyturn,
    private readonly options: LeadOptions,
    private readonly killAfter: number,
    private readonly stateFile: StateFile,
    private readonly stop: StopSignals,
  ) {}

  async run(command: readonly string[]): Promise<number> {
    const { group, ttl, handOverTimeout, once = false, inaugurate, handOver } = this.options;
    const { killAfter, stateFile } = this;
    // Nothing may run any more so long before the term can begin elsewhere.
    const margin = Math.min(ttl / 10, 2_000);
    const career = new CommandCareer({
      group,
      command,
      inaugurate,
      handOver,
      killAfter,
      margin,
      stateFile,
      once,
      say,
      standing: (position) => this.#standing(position),
      ended: (exitCode, isLost) => this.#ended(exitCode, isLost),
    });
    const metadata = { host: hostname(), pid: String(process.pid) };
    // SIGKILL, too, comes before that.
    const options = { ttl, handOverTimeout, margin: killAfter + margin, once, metadata };
    const leadership = this.client.lead(group, career, options);
    this.#leadership = leadership;
    const end = () => void leadership.stop();
    this.stop.signal.addEventListener('abort', end, { once: true });
    if (this.stop.signal.aborted) end();
    try {
      await leadership.ended;
    } finally {
      await career.idle();
    }
    return this.stop.exitCode ?? this.#exitCode ?? this.#withoutCommand(career);
  }

  /** Whoever counts on `--once` must not take that for work that was done. */
  #withoutCommand({ isLost }: CommandCareer): number {
    say(`the command did not run: its term of group ${this.options.group} was over before`);
    return isLost ? EXIT.turnLost : EXIT.notMyTurn;
  }

  #standing(position: number): void {
    const { group, once } = this.options;
    if (once !== true || this.#exitCode !== undefined) return say(`standing in group ${group}, place ${position}`);
    say(`no term of group ${group} now: place ${position}. "${pastedCommand(['leader'], [group])}" tells more.`);
    this.#exitCode = EXIT.notMyTurn;
    void this.#leadership?.stop();
  }

  #ended(exitCode: number, isLost: boolean): void {
    if (isLost) say(`the term of group ${this.options.group} is lost: what ran for it was stopped`);
    this.#exitCode = isLost ? EXIT.turnLost : exitCode;
  }
}

function say(text: string): void {
  process.stderr.write(`keyturn: ${harmlessLines(text)}\n`);
}
