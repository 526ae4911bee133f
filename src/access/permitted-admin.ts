/** The calls of operators, as far as their principal may ask them. */
import type {
  AdminAnswer,
  AdminCall,
  Administration,
  AdminKind,
  AdminRequest,
  Refusal,
  Result,
  Watch,
  Watcher,
} from '../coordinator.js';
import { ADMIN_CALLS } from '../coordinator.js';
import { EVERYTHING, notAllowed } from './permitted.js';
import type { Principal } from './principal.js';
import { SEEN_BY } from './seen-answers.js';
import type { Verb } from './settings.js';

export class PermittedAdministration implements Administration {
  constructor(
    private readonly admin: Administration,
    private readonly principal: Principal,
  ) {}

  async ask<K extends AdminKind>(kind: K, request: AdminRequest<K>): Promise<Result<AdminAnswer<K>>> {
    const { principal } = this;
    const refusal = operatorRefusal(principal, ADMIN_CALLS[kind], request);
    if (refusal !== undefined) return { ok: false, refusal };
    return SEEN_BY[kind](principal, request, (own) => this.admin.ask(kind, own, principal.name));
  }

  watch(queue: string | undefined, key: string | undefined, watcher: Watcher): Result<Watch> {
    const { allowance, grants } = this.principal;
    const refusal = allowance?.asks() ?? missingRight(this.principal, 'view', queue);
    if (refusal !== undefined) return { ok: false, refusal };
    const tooMany = allowance?.watches();
    if (tooMany !== undefined) return { ok: false, refusal: tooMany };
    const ended = allowance?.watchBegan() ?? (() => undefined);
    const guarded: Watcher = {
      isGuest: !grants.mayEverywhere('operate'),
      wake: () => watcher.wake(),
      end: (why) => {
        ended();
        watcher.end(why);
      },
    };
    const opened = this.admin.watch(queue, key, guarded, this.principal.name);
    if (!opened.ok) {
      ended();
      return opened;
    }
    const stop = (): void => {
      ended();
      opened.value.stop();
    };
    return { ok: true, value: { take: () => opened.value.take(), stop } };
  }
}

/** Every call counts against the allowance of its principal, a refused call too. */
export function operatorRefusal<R>(principal: Principal, call: AdminCall<R>, request: R): Refusal | undefined {
  const refusal = principal.allowance?.asks();
  if (refusal !== undefined) return refusal;
  const queue = call.place(request)?.queue;
  for (const right of call.rights(request)) {
    const missing = missingRight(principal, right, queue);
    if (missing !== undefined) return missing;
  }
  return undefined;
}

/** @param queue unset: all that there are and will be */
function missingRight(principal: Principal, verb: Verb, queue: string | undefined): Refusal | undefined {
  const { grants } = principal;
  const may = queue === undefined ? grants.mayEverywhere(verb) : grants.mayQueue(verb, queue);
  return may ? undefined : notAllowed(principal, verb, queue === undefined ? EVERYTHING : `queue ${queue}`);
}
