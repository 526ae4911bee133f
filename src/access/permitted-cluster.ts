/** A partition has keys of many queues: what is asked or done of it concerns all. */
import type { Cluster, Result, RouteRequest } from '../coordinator.js';
import { EVERYTHING, notAllowed } from './permitted.js';
import type { Principal } from './principal.js';
import type { Verb } from './settings.js';

type Answer<K extends keyof Cluster> = ReturnType<Cluster[K]>;

export class PermittedCluster implements Cluster {
  constructor(
    private readonly cluster: Cluster,
    private readonly principal: Principal,
  ) {}

  async view(): Answer<'view'> {
    return this.#refused('view') ?? this.cluster.view();
  }

  async move(...request: Parameters<Cluster['move']>): Answer<'move'> {
    return this.#refused('operate') ?? this.cluster.move(...request);
  }

  async restore(...request: Parameters<Cluster['restore']>): Answer<'restore'> {
    return this.#refused('operate') ?? this.cluster.restore(...request);
  }

  async finalize(): Answer<'finalize'> {
    return this.#refused('operate') ?? this.cluster.finalize();
  }

  /** A change stands in the record of all, and only one is made at a time. */
  async route(request: RouteRequest): Answer<'route'> {
    const isChange = request.group !== undefined || request.spread !== undefined;
    if (isChange) return this.#refused('operate') ?? this.cluster.route(request);
    const refusal = this.principal.allowance?.asks();
    if (refusal !== undefined) return { ok: false, refusal };
    if (this.principal.grants.mayQueue('view', request.queue)) return this.cluster.route(request);
    return { ok: false, refusal: notAllowed(this.principal, 'view', `queue ${request.queue}`) };
  }

  #refused(verb: Verb): Result<never> | undefined {
    const refusal = this.principal.allowance?.asks();
    if (refusal !== undefined) return { ok: false, refusal };
    if (this.principal.grants.mayEverywhere(verb)) return undefined;
    return { ok: false, refusal: notAllowed(this.principal, verb, EVERYTHING) };
  }
}
