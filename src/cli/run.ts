import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { type Keyturn, KeyturnError, type Turn, TurnLostError } from '@keyturn/client';
import type { Command } from 'commander';
import { harmlessLines } from '../observability/harmless.js';
import { act } from './action.js';
import { EXIT } from './exit-codes.js';
import { CommandFailure } from './failure.js';
import { durationBetween, type SidecarOptions, sidecarOptions, text, unaryOption } from './options.js';
import { humanDuration, plain } from './output.js';
import { Child, type Ending } from './run/child.js';
import { Claim, type Claimed } from './run/claim.js';
import { Forwarding } from './run/forwarding.js';
import { withWorker } from './sidecar.js';

interface RunOptions extends SidecarOptions {
  readonly queue: string;
  readonly key: string;
  readonly wait?: number;
  readonly lease?: number;
  readonly consumer?: string;
  readonly killAfter: number;
  readonly unary?: boolean;
}

const HELP = `
The command finds KEYTURN_TOKEN, KEYTURN_QUEUE and KEYTURN_KEY in its environment. Give the token to what
it writes to: a resource that remembers the largest token it saw can refuse a worker whose turn was lost.

While the command runs, a session with the sidecar keeps the turn; with --lease or --unary it is renewed at every
third of its lease. Signals go on to the command and all that it has started (on a terminal to the command alone). If
the turn is lost they are stopped: SIGTERM, and SIGKILL after --kill-after. If keyturn itself is killed (SIGKILL) or stopped (Ctrl-Z), nobody keeps the turn: it ends 10 s
later (with --lease or --unary: with its lease), and the command runs on without it.

Exit codes: that of the command (128 + n when signal n ended it; 127 not found, 126 cannot be run), or
  ${EXIT.unreachable}  the sidecar cannot be reached
  ${EXIT.notMyTurn}  the turn did not come within --wait, or the request was declined
  ${EXIT.turnLost}  the turn was lost while the command ran

A queue that coalesces declines who comes when somebody waits already. Where everybody shall have a turn,
give the queue "waiting_per_key: unlimited".

Examples:
  $ keyturn run --queue cron --key nightly-report -- ./report.sh
  $ keyturn run --queue deploy --key production --wait 10m --lease 1m -- make deploy
  $ keyturn run --queue cron --key sync --wait 0s -- rsync -a src/ dst/   # or not at all
`;

/** The longest time that setTimeout takes, in words of people. */
const LONGEST_WAIT = 24 * 86_400_000;

export function registerRun(program: Command): void {
  const command = program
    .command('run')
    .summary('hold the turn of a key while a command runs')
    .description('Waits for the turn of a key and runs a command under it: like flock, across machines.')
    .usage('--queue <queue> --key <key> [options] -- <command> [args...]')
    .argument('<command...>', 'the command and its arguments, after --')
    .passThroughOptions()
    .requiredOption('--queue <queue>', 'the queue', text)
    .requiredOption('--key <key>', 'the key', text)
    .option(
      '--wait <duration>',
      'how long to wait for the turn; unset: for ever',
      durationBetween(0, LONGEST_WAIT, '0s to 576h'),
    )
    .option(
      '--lease <duration>',
      "life of the turn without renewal; unset: the queue's",
      durationBetween(100, 86_400_000, '100ms to 24h'),
    )
    .option('--consumer <id>', 'who holds the turn, for people who look; unset: host and process', text)
    .option(
      '--kill-after <duration>',
      'from SIGTERM to SIGKILL when the turn is lost',
      durationBetween(0, LONGEST_WAIT, '0s to 576h'),
      10_000,
    )
    .addOption(unaryOption());
  sidecarOptions(command)
    .addHelpText('after', HELP)
    .action((command: string[], options: RunOptions) => act(() => run(command, options)));
}

async function run(command: readonly string[], options: RunOptions): Promise<number> {
  const forwarding = new Forwarding();
  try {
    return await withWorker(options, options.queue, (client) => new Run(client, options, forwarding).run(command));
  } finally {
    forwarding.release();
  }
}

/** A sidecar that is away does not hold up a command that has ended: the turn then ends without us. */
const GIVE_BACK_MS = 5_000;

class Run {
  readonly #client: Keyturn;
  readonly #options: RunOptions;
  readonly #forwarding: Forwarding;

  constructor(client: Keyturn, options: RunOptions, forwarding: Forwarding) {
    this.#client = client;
    this.#options = options;
    this.#forwarding = forwarding;
  }

  async run(command: readonly string[]): Promise<number> {
    const { queue, key, wait, lease, consumer } = this.#options;
    const consumerId = consumer ?? `${hostname()}:${process.pid}`;
    const plan = { queue, key, wait, lease, consumerId, ticket: `run-${randomUUID()}` };
    const claimed = await new Claim(this.#client, plan).wait(this.#forwarding.stop);
    return claimed.kind === 'turn' ? this.#hold(claimed, command) : this.#noTurn(claimed);
  }

  async #hold({ turn, askedAt }: Extract<Claimed, { kind: 'turn' }>, words: readonly string[]): Promise<number> {
    const [command = '', ...args] = words;
    const held = this.#client.hold(turn, askedAt);
    const environment = { KEYTURN_TOKEN: String(turn.token), KEYTURN_QUEUE: turn.queue, KEYTURN_KEY: turn.key };
    const child = new Child(command, args, { ...process.env, ...environment });
    const onLost = () => this.#stopChild(child, held.signal.reason);
    held.signal.addEventListener('abort', onLost, { once: true });
    this.#forwarding.to(child);
    const ending = await child.ended();
    held.signal.removeEventListener('abort', onLost);
    this.#forwarding.toNobody();
    held.release();
    if (ending.kind === 'not_started') warn(ending.why);
    return held.signal.aborted ? EXIT.turnLost : this.#settle(turn, ending);
  }

  #stopChild(child: Child, reason: unknown): void {
    const cause = reason instanceof TurnLostError ? reason.loss : String(reason);
    warn(`the turn of ${this.#name} was lost (${cause}): stopping the command`);
    child.stop(this.#options.killAfter);
  }

  /** Gives the turn back. What the command did stands in any case, so its exit code does, unless the turn was lost. */
  async #settle(turn: Turn, { exitCode }: Ending): Promise<number> {
    const { queue, key, token } = turn;
    try {
      const call = { queue, key, token, abandoned: exitCode !== 0 };
      await this.#client.deQueue(call, { timeout: GIVE_BACK_MS, signal: this.#forwarding.stop });
      return exitCode;
    } catch (error) {
      if (!(error instanceof KeyturnError)) throw error;
      const lost = error.reason === 'TURN_LOST';
      warn(`the turn of ${this.#name} could not be given back: ${error.message}`);
      return lost ? EXIT.turnLost : exitCode;
    }
  }

  #noTurn(claimed: Exclude<Claimed, { kind: 'turn' }>): number {
    if (claimed.kind === 'stopped') return this.#forwarding.exitCode;
    throw new CommandFailure(
      claimed.kind === 'declined' ? this.#declined(claimed) : this.#tooLate(claimed),
      EXIT.notMyTurn,
    );
  }

  #declined({ answer }: Extract<Claimed, { kind: 'declined' }>): string {
    const by = answer.survivorId === undefined ? '' : `: ${plain(answer.survivorId)} stands in`;
    const again = answer.retryAfter === undefined ? '' : `; try again in ${humanDuration(answer.retryAfter)}`;
    return `declined for ${this.#name}: ${answer.reason.toUpperCase()}${by}${again}`;
  }

  #tooLate({ ahead }: Extract<Claimed, { kind: 'too_late' }>): string {
    const waited = humanDuration(this.#options.wait ?? 0);
    const why = ahead === 0 ? 'a gate holds it back' : `${ahead} before us`;
    return `no turn of ${this.#name} within ${waited}: ${why}. "keyturn explain" tells more.`;
  }

  get #name(): string {
    return `key ${plain(this.#options.key)} in queue ${this.#options.queue}`;
  }
}

function warn(message: string): void {
  process.stderr.write(`keyturn: ${harmlessLines(message)}\n`);
}
