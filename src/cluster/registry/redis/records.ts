/** Members and homes as they are written: JSON. What is none, of whoever wrote it, is not seen. */
import type { HomeEntry, Member } from '../registry.js';

type Kinds<T> = { readonly [F in keyof Required<T>]: 'string' | 'number' | 'boolean' };

const MEMBER: Kinds<Member> = {
  id: 'string',
  name: 'string',
  address: 'string',
  grpc: 'string',
  version: 'string',
  format: 'number',
  weight: 'number',
  isLeaving: 'boolean',
  routes: 'number',
};

const HOME: Kinds<Omit<HomeEntry, 'paused'>> = {
  partition: 'number',
  epoch: 'number',
  member: 'string',
  address: 'string',
};

export function memberOf(text: unknown): Member | undefined {
  const found = parsed(text);
  return fits(MEMBER, found) ? found : undefined;
}

/** Behind its epoch, which a script compares. */
export function homeOf(text: unknown): HomeEntry | undefined {
  const found = typeof text === 'string' ? parsed(text.slice(text.indexOf(' ') + 1)) : undefined;
  if (!fits(HOME, found)) return undefined;
  const { paused } = { paused: undefined, ...found };
  const { partition, epoch, member, address } = found;
  return { partition, epoch, member, address, ...(typeof paused === 'number' && { paused }) };
}

function parsed(text: unknown): unknown {
  if (typeof text !== 'string') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function fits<T extends object>(kinds: Kinds<T>, value: unknown): value is T {
  if (typeof value !== 'object' || value === null) return false;
  const fields = new Map<string, unknown>(Object.entries(value));
  return Object.entries(kinds).every(([name, kind]) => typeof fields.get(name) === kind);
}
