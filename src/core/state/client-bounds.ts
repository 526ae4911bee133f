/** Whether a principal may hold more: `auth.per_client.turns` and `auth.per_client.memory_bytes` (S657, S660). */
import type { Refusal } from '../contract/model.js';
import { clientMemoryFull, clientTurns } from '../contract/refusals.js';
import type { Account } from './accounts.js';
import type { CoreState } from './state.js';

/**
 * Why the principal gets no further turn. `undefined`: the principal may get one.
 *
 * @param ended the account of a turn that ends first
 */
export function lacksTurn(state: CoreState, account: Account | undefined, ended?: Account): Refusal | undefined {
  // Asked of every turn: without `auth` this is all.
  if (account === undefined) return undefined;
  const limit = state.settings.perClient?.turns;
  if (limit === undefined) return undefined;
  const turns = account.held.turns - (ended === account ? 1 : 0);
  return turns < limit ? undefined : clientTurns(account.principal, limit);
}

/** Why the principal may not hold so many bytes more. `undefined`: it may. Work that needs no memory is never refused. */
export function lacksOwnMemory(state: CoreState, account: Account | undefined, bytes: number): Refusal | undefined {
  if (account === undefined) return undefined;
  const limit = state.settings.perClient?.memoryBytes;
  if (limit === undefined || bytes <= 0) return undefined;
  return account.held.bytes + bytes <= limit ? undefined : clientMemoryFull(account.principal, limit);
}
