/** What a sidecar tells of itself to one principal. */
import type { Desk, Result, ServerView } from '../coordinator.js';
import type { Principal } from './principal.js';

export class PermittedDesk implements Desk {
  constructor(
    private readonly desk: Desk,
    private readonly principal: Principal,
  ) {}

  /** Everybody learns who they are and what they may. Settings and figures are for those who may view everything. */
  async view(): Promise<Result<ServerView>> {
    const { allowance, grants, name } = this.principal;
    const refusal = allowance?.asks();
    if (refusal !== undefined) return { ok: false, refusal };
    const told = await this.desk.view();
    if (!told.ok) return told;
    const asker = { name, rights: grants.rights };
    if (grants.mayEverywhere('view')) return { ok: true, value: { ...told.value, asker } };
    return { ok: true, value: { ...told.value, asker, settings: undefined, limits: [] } };
  }
}
