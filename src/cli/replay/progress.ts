import { Presets, SingleBar } from 'cli-progress';
import { count } from '../output.js';
import type { ReplayProgress } from './run-replay.js';

/** How often the bar is drawn, ms. */
const EVERY = 100;

/** What is known of the amount: lines when they are limited, bytes of a file, or nothing. */
interface Amount {
  readonly lines: number | undefined;
  readonly bytes: number | undefined;
}

/** A progress bar on stderr. Only on a terminal: in a pipe it would be noise. */
export class Progress {
  readonly #amount: Amount;
  #bar: SingleBar | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(amount: Amount) {
    this.#amount = amount;
  }

  start(progress: () => ReplayProgress): void {
    if (!process.stderr.isTTY) return;
    const total = this.#amount.lines ?? this.#amount.bytes;
    const format = total === undefined ? '  {lines} lines' : '  {bar} {percentage} %  {lines} lines';
    const bar = new SingleBar({ format, stream: process.stderr, clearOnComplete: true }, Presets.shades_classic);
    bar.start(total ?? 1, 0, { lines: '0' });
    this.#bar = bar;
    this.#timer = setInterval(() => this.#draw(bar, progress()), EVERY);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#bar?.stop();
  }

  #draw(bar: SingleBar, { lines, bytes }: ReplayProgress): void {
    bar.update(this.#amount.lines === undefined ? bytes : lines, { lines: count(lines) });
  }
}
