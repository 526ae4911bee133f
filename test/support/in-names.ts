/** Calls of several principals, and of nobody, one after the other: each call is charged to the next principal. */
import type { Calls } from '../../src/coordinator.js';

const NAMES = ['ada', 'bob', undefined, 'ada', 'cyd'] as const;

export class InNames {
  #next = 0;

  /** @returns the same object: from now on its calls are charged */
  charge<C extends Calls>(calls: C): C {
    const enQueue = calls.enQueue.bind(calls);
    const submit = calls.submit.bind(calls);
    const acquire = calls.acquire.bind(calls);
    const ack = calls.ack.bind(calls);
    calls.enQueue = (request, reply) => enQueue({ ...request, principal: this.#name() }, reply);
    calls.submit = (request, reply) => submit({ ...request, principal: this.#name() }, reply);
    calls.acquire = (request, reply) => acquire({ ...request, principal: this.#name() }, reply);
    calls.ack = (request, reply) => {
      const principal = this.#name();
      return ack({ ...request, principal, next: request.next && { ...request.next, principal } }, reply);
    };
    return calls;
  }

  #name(): string | undefined {
    this.#next += 1;
    return NAMES[this.#next % NAMES.length];
  }
}
