/** Dead letters by what went wrong, and when. */
import { Buffer } from 'node:buffer';
import type { DeadLetterFilter } from '@keyturn/client';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../config/duration.js';

export interface FilterOptions {
  readonly cause?: readonly string[];
  readonly error?: string;
  readonly after?: number;
  readonly before?: number;
}

const CAUSES = ['max_attempts', 'max_crashes', 'refused', 'dependency'];
const ERROR_BYTES = 256;

export function filterOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--cause <cause>', `only of this cause, may be given again: ${CAUSES.join(', ')}`).argParser(causes),
    )
    .option('--error <text>', 'only with this in the last error', errorText)
    .option('--after <when>', 'only what died then or later: a moment (ISO 8601), or how long ago (30m)', moment)
    .option('--before <when>', 'only what died then or earlier', moment);
}

export function filterOf({ cause, error, after, before }: FilterOptions): DeadLetterFilter | undefined {
  if ([cause, error, after, before].every((one) => one === undefined)) return undefined;
  return { causes: cause, errorContains: error, diedAfter: after, diedBefore: before };
}

function causes(cause: string, others: readonly string[] = []): readonly string[] {
  if (!CAUSES.includes(cause)) throw new InvalidArgumentError(`Allowed: ${CAUSES.join(', ')}.`);
  return others.includes(cause) ? others : [...others, cause];
}

function errorText(text: string): string {
  const bytes = Buffer.byteLength(text);
  if (bytes === 0 || bytes > ERROR_BYTES) throw new InvalidArgumentError(`Allowed: 1 to ${ERROR_BYTES} bytes.`);
  return text;
}

/** A date without a zone is local, as people who read it in their log mean it. */
function moment(text: string): number {
  const ago = parseDuration(text);
  const at = ago === undefined ? Date.parse(text) : Date.now() - ago;
  if (!/^\d{4}-\d{2}-\d{2}/.test(text) && ago === undefined) throw wrongMoment();
  if (!Number.isFinite(at) || at < 0) throw wrongMoment();
  return at;
}

function wrongMoment(): InvalidArgumentError {
  return new InvalidArgumentError('Allowed: a moment (2026-05-01T10:00:00Z), or how long ago (30m, 2h).');
}
