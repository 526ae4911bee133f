/** Members and homes as they are written: JSON. What is none, of whoever wrote it, is not seen. */
import type { HomeEntry, Member } from '../registry.js';

type Kinds<T> = { readonly [F in keyof T]: 'string' | 'number' | 'boolean' };
/** What a member need not say. */
type Unsaid = 'cluster' | 'keeps';

const MEMBER: Kinds<Omit<Member, Unsaid>> = {
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
  return fits(MEMBER, found) && isUnsaidOrRight(found) ? found : undefined;
}

function isUnsaidOrRight(found: object): found is Pick<Member, Unsaid> {
  const fields = new Map<string, unknown>(Object.entries(found));
  const [cluster, keeps] = [fields.get('cluster'), fields.get('keeps')];
  if (cluster !== undefined && typeof cluster !== 'string') return false;
  return keeps === undefined || (Array.isArray(keeps) && keeps.every(isKept));
}

function isKept(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && value.every(Number.isSafeInteger);
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
