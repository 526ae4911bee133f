/** The kinds of values that settings have: how each is read, what it allows, how it is written back. */
import { type Address, parseAddress } from './address.js';
import { formatDuration, parseDuration } from './duration.js';
import type { Problems } from './problem.js';
import { type Plain, show, type Written } from './written.js';

export type YamlValue = string | number | boolean | readonly YamlValue[] | { readonly [name: string]: YamlValue };

/** Which setting is being read, and who is told when it is wrong. */
export interface At {
  readonly path: string;
  readonly problems: Problems;
  /** A word that is allowed too. */
  readonly orElse?: string;
}

export interface Kind<T> {
  /** What is allowed; reads well after "must be". */
  readonly allowed: string;
  /** The value, or after a problem was told `inherited`: the caller goes on to find the other problems. */
  read(written: Written, at: At, inherited: T): T;
  /** So that {@link read} gives the same value again. */
  write(value: T): YamlValue;
}

interface ScalarRules<T> {
  readonly allowed: string;
  /** Unset: refused. */
  parse(value: Plain): T | undefined;
  write(value: T): YamlValue;
  /** More to say about a value that is refused. */
  hint?(value: Plain): string | undefined;
}

export function scalar<T>(rules: ScalarRules<T>): Kind<T> {
  return {
    allowed: rules.allowed,
    write: (value) => rules.write(value),
    read(written, at, inherited) {
      const value = written.kind === 'scalar' ? rules.parse(written.value) : undefined;
      if (value !== undefined) return value;
      const hint = written.kind === 'scalar' ? rules.hint?.(written.value) : undefined;
      refuse(written, at, rules.allowed, hint);
      return inherited;
    },
  };
}

/** Tells that `written` is not what is allowed. */
export function refuse(written: Written, at: At, allowed: string, hint?: string): void {
  const all = at.orElse === undefined ? allowed : `${allowed}, or ${at.orElse}`;
  at.problems.add(
    at.path,
    written.place,
    `is ${show(written)}, must be ${all}${hint === undefined ? '' : `; ${hint}`}`,
  );
}

export function duration(min: number, max: number): Kind<number> {
  return scalar({
    allowed: `a duration from ${formatDuration(min)} to ${formatDuration(max)}, as 250ms, 20s, 5m or 24h`,
    parse(value) {
      const ms = typeof value === 'string' ? parseDuration(value) : undefined;
      return ms !== undefined && ms >= min && ms <= max ? ms : undefined;
    },
    write: formatDuration,
    hint: (value) => (typeof value === 'number' ? `a number alone has no unit: ${value}s or ${value}ms?` : undefined),
  });
}

export function count(min: number, max: number): Kind<number> {
  return scalar({
    allowed: `a whole number from ${min} to ${max}`,
    parse: (value) =>
      typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max ? value : undefined,
    write: (value) => value,
  });
}

export function countOr<const W extends string>(word: W, min: number, max: number): Kind<number | W> {
  const fits = (value: Plain): value is number =>
    typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;
  return scalar<number | W>({
    allowed: `a whole number from ${min} to ${max}, or ${word}`,
    parse: (value) => (value === word ? word : fits(value) ? value : undefined),
    write: (value) => value,
  });
}

/** `above` itself is not allowed. */
export function decimalFrom(min: number, max: number): Kind<number> {
  return scalar({
    allowed: `a number from ${min} to ${max}`,
    parse: (value) => (typeof value === 'number' && value >= min && value <= max ? value : undefined),
    write: (value) => value,
  });
}

export const yesOrNo: Kind<boolean> = scalar({
  allowed: 'true or false',
  parse: (value) => (typeof value === 'boolean' ? value : undefined),
  write: (value) => value,
});

export function choice<const T extends string>(...words: readonly T[]): Kind<T> {
  return scalar<T>({
    allowed: words.length === 1 ? `${words[0]}` : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`,
    parse: (value) => words.find((word) => word === value),
    write: (value) => value,
  });
}

const LONGEST_PATH = 4_096;

/** Of a file or directory: absolute, or from where the process is started. */
export const path: Kind<string> = scalar({
  allowed: `a path of 1 to ${LONGEST_PATH} bytes`,
  parse: (value) => (typeof value === 'string' && isPath(value) ? value : undefined),
  write: (value) => value,
});

function isPath(text: string): boolean {
  return text !== '' && !text.includes('\0') && Buffer.byteLength(text) <= LONGEST_PATH;
}

export const address: Kind<string> = addressKind('host:port, [IPv6]:port or unix:/absolute/path', ['tcp', 'unix']);
export const tcpAddress: Kind<string> = addressKind('host:port or [IPv6]:port', ['tcp']);

function addressKind(allowed: string, kinds: readonly Address['kind'][]): Kind<string> {
  return scalar({
    allowed,
    parse(value) {
      const parsed = typeof value === 'string' ? parseAddress(value) : undefined;
      return typeof value === 'string' && parsed !== undefined && kinds.includes(parsed.kind) ? value : undefined;
    },
    write: (value) => value,
    hint: (value) =>
      typeof value === 'string' && value.startsWith(':')
        ? `0.0.0.0${value} is all addresses of this machine`
        : undefined,
  });
}

/** `word` takes away what would be inherited. `start` is what a value inherits from when nothing else is there. */
export function optional<T>(kind: Kind<T>, word: string, start: T): Kind<T | undefined> {
  return {
    allowed: `${kind.allowed}, or ${word}`,
    read(written, at, inherited) {
      if (written.kind === 'scalar' && written.value === word) return undefined;
      const both: At = { ...at, orElse: word };
      if (written.kind !== 'scalar' || written.value !== null) return kind.read(written, both, inherited ?? start);
      // Nothing is neither the word nor a value: a group would take it for "as inherited".
      refuse(written, both, kind.allowed);
      return inherited;
    },
    write: (value) => (value === undefined ? word : kind.write(value)),
  };
}

/** `word` is written for infinity. */
export function infinite(kind: Kind<number>, word: string): Kind<number> {
  const { allowed, read, write } = optional(kind, word, Number.POSITIVE_INFINITY);
  return {
    allowed,
    read: (written, at, inherited) => read(written, at, inherited) ?? Number.POSITIVE_INFINITY,
    write: (value) => write(value === Number.POSITIVE_INFINITY ? undefined : value),
  };
}

/** A list of what `each` allows. */
export function listOf<T>(each: Kind<T>, most: number, start: T): Kind<readonly T[]> {
  return {
    allowed: `a list of up to ${most}, each ${each.allowed}`,
    read(written, at, inherited) {
      if (written.kind !== 'list') {
        refuse(written, at, `a list of up to ${most}, each ${each.allowed}`);
        return inherited;
      }
      const items = [...written.items()];
      if (items.length > most)
        at.problems.add(at.path, written.place, `has ${items.length} entries, must have at most ${most}`);
      return items.slice(0, most).map((item, index) => each.read(item, { ...at, path: `${at.path}[${index}]` }, start));
    },
    write: (values) => values.map((value) => each.write(value)),
  };
}
