/**
 * A line of the ledger that all players of the mixed test append to. Each line is one write to a file opened for
 * appending, so that the lines of all processes have one order, whatever their clocks say.
 */

/** What a handler saw: its work began, its work is done, it was told that its turn is lost. */
export interface TurnLine {
  readonly kind: 'start' | 'end' | 'lost';
  readonly queue: string;
  readonly key: string;
  readonly token: number;
  /** As the player calls itself: for people. */
  readonly player: string;
  /** None for a turn that was asked for with EnQueue. */
  readonly items: readonly string[];
}

/** Written by the test before it kills: whatever this process does not say afterwards has a reason. */
export interface KillLine {
  readonly kind: 'kill';
  readonly process: string;
}

/** Written by the test before it kills the sidecar: calls that have no answer then are sent again. */
export interface CrashLine {
  readonly kind: 'crash';
  /**
   * Turns that were given before have smaller tokens, those after it larger ones. Where the line stands says nothing: a
   * worker may begin a turn only when the sidecar that gave it is dead.
   */
  readonly token: number;
}

export type LedgerLine = TurnLine | KillLine | CrashLine;

/** @throws {SyntaxError} with the number of the first line that is none */
export function readLedger(text: string): readonly LedgerLine[] {
  const lines = text.split('\n');
  // What a killed process had not written to its end is no line: one write, or none.
  if (lines.pop() !== '') throw new SyntaxError('the last line of the ledger does not end');
  return lines.map((line, index) => {
    const parsed = parse(line.split('\t'));
    if (parsed === undefined) throw new SyntaxError(`line ${index + 1} of the ledger is none: ${JSON.stringify(line)}`);
    return parsed;
  });
}

export function writeLine(line: LedgerLine): string {
  const { kind } = line;
  if (kind === 'crash') return `${kind}\t${line.token}\n`;
  if (kind === 'kill') return `${kind}\t${line.process}\n`;
  return `${[kind, line.queue, line.key, line.token, line.player, line.items.join(',')].join('\t')}\n`;
}

function parse(fields: readonly string[]): LedgerLine | undefined {
  const [kind, queue, key, token, player, items = '', ...more] = fields;
  if (kind === 'crash' && isToken(queue) && key === undefined) return { kind, token: Number(queue) };
  if (kind === 'kill' && queue !== undefined && key === undefined) return { kind, process: queue };
  if (kind !== 'start' && kind !== 'end' && kind !== 'lost') return undefined;
  if (queue === undefined || key === undefined || player === undefined || more.length > 0) return undefined;
  if (!isToken(token)) return undefined;
  return { kind, queue, key, token: Number(token), player, items: items === '' ? [] : items.split(',') };
}

function isToken(text: string | undefined): text is string {
  return text !== undefined && /^[1-9]\d*$/.test(text) && Number.isSafeInteger(Number(text));
}
