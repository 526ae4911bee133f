import type { Allowance } from '../../src/access/allowance.js';
import { Grants } from '../../src/access/grants.js';
import { PermittedPort } from '../../src/access/permitted-port.js';
import type { Principal } from '../../src/access/principal.js';
import { VERBS } from '../../src/access/settings.js';
import type { Coordinator } from '../../src/coordinator.js';

/** One who may do everything with every queue. */
export function principal(name: string, allowance?: Allowance): Principal {
  const grants = new Grants([{ queues: ['*'], groups: ['*'], may: VERBS }]);
  return { name, grants, allowance, proof: { by: 'unix' } };
}

/** What this principal may ask of the coordinator: everything. */
export function portOf(coordinator: Coordinator, name: string, allowance?: Allowance): PermittedPort {
  return new PermittedPort(coordinator, undefined, principal(name, allowance));
}
