/** Members and homes as they are written: JSON. What is none, of whoever wrote it, is not seen. */
import type { QueueRemains } from '../../core/contract/views.js';
import type { HomeEntry, Member, Statement } from './registry.js';

type Kinds<T> = { readonly [F in keyof T]: 'string' | 'number' | 'boolean' };
/** What a member need not say. */
type Unsaid = 'cluster' | 'keeps' | 'reroutes' | 'revision';

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

const HOME: Kinds<Omit<HomeEntry, 'paused' | 'statement'>> = {
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
  const [cluster, keeps, reroutes] = [fields.get('cluster'), fields.get('keeps'), fields.get('reroutes')];
  const revision = fields.get('revision');
  if (reroutes !== undefined && typeof reroutes !== 'boolean') return false;
  if (revision !== undefined && typeof revision !== 'number') return false;
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
  const { paused, statement } = { paused: undefined, statement: undefined, ...found };
  const { partition, epoch, member, address } = found;
  const said = statementOf(statement);
  const home = { partition, epoch, member, address };
  return { ...home, ...(typeof paused === 'number' && { paused }), ...(said !== undefined && { statement: said }) };
}

const REMAINS: Kinds<QueueRemains> = {
  items: 'number',
  turns: 'number',
  callers: 'number',
  deadLetters: 'number',
  keys: 'number',
  dependants: 'number',
  remembered: 'number',
  paused: 'boolean',
  limits: 'boolean',
};
const AT: Kinds<{ readonly at: number }> = { at: 'number' };
const LEFT: Kinds<{ readonly at: number; readonly lastToken: number }> = { at: 'number', lastToken: 'number' };

function statementOf(value: unknown): Statement | undefined {
  if (fits(LEFT, value)) return { at: value.at, lastToken: value.lastToken };
  if (!fits(AT, value)) return undefined;
  const { remains } = { remains: undefined, ...value };
  return fits(REMAINS, remains) ? { at: value.at, remains } : undefined;
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
