/** Items that are submitted one by one. */
import type { SubmitRequest } from '../../src/grpc/gen/keyturn/v1/coordinator.js';
import { Decision, Durability } from '../../src/grpc/gen/keyturn/v1/coordinator.js';
import { makeKeys } from '../coordinator.js';
import { KEYS, PAYLOAD } from './backlog.js';
import { type Outcome, outcomeValue, type SessionStream } from './session-stream.js';
import { newItem, submit } from './wire.js';

export class SingleItems {
  readonly #keys = makeKeys(KEYS);
  #submitted = 0;

  constructor(
    private readonly session: SessionStream,
    private readonly durability: Durability = Durability.DURABILITY_UNSPECIFIED,
  ) {}

  /** A throw in here ends the process of the row. @returns items per second, each with its answer */
  submitAll(count: number, inFlight: number): Promise<number> {
    return new Promise((resolve) => {
      const start = performance.now();
      let begun = 0;
      let done = 0;
      const begin = (): void => {
        if (begun === count) return;
        begun += 1;
        this.session.send(this.#next(), (outcome) => {
          mustBeAccepted(outcome);
          if (++done === count) resolve((count * 1_000) / (performance.now() - start));
          else begin();
        });
      };
      for (let lane = 0; lane < inFlight; lane++) begin();
    });
  }

  #next(): { $case: 'submit'; value: SubmitRequest } {
    const call = submit([newItem(this.#keys[this.#submitted++ % KEYS] ?? '', PAYLOAD)]);
    call.value.durability = this.durability;
    return call;
  }
}

function mustBeAccepted(outcome: Outcome | Error): void {
  const { results } = outcomeValue(outcome, 'submit');
  if (results[0]?.decision !== Decision.DECISION_ACCEPT) throw new Error(`an item was answered ${results[0]?.decision}`);
}
