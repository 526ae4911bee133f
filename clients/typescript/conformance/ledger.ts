/** The file in which all players write what they do, in one order. */
import { appendFileSync } from 'node:fs';

export interface Performance {
  readonly queue: string;
  readonly key: string;
  readonly token: number;
  readonly itemIds: readonly string[];
}

const PLAYER = `typescript-${process.pid}`;

export class Ledger {
  constructor(private readonly path: string | undefined) {}

  /** Appended in one write, so that lines of several processes do not mix. */
  note(what: 'start' | 'end' | 'lost', { queue, key, token, itemIds }: Performance): void {
    if (this.path === undefined) return;
    appendFileSync(this.path, `${[what, queue, key, token, PLAYER, itemIds.join(',')].join('\t')}\n`);
  }
}
