/** Durable items, one a Submit, on one session. */
import { Decision, Durability, type SubmitRequest } from '../../src/grpc/gen/keyturn/v1/coordinator.js';
import { makeKeys } from '../coordinator.js';
import { KEYS, PAYLOAD } from './backlog.js';
import { type Outcome, outcomeValue, type SessionStream } from './session-stream.js';
import { newItem, submit } from './wire.js';

type SubmitCall = { readonly $case: 'submit'; value: SubmitRequest };

export class SingleItems {
  readonly #keys = makeKeys(KEYS);
  #submitted = 0;

  /** @param durability of each Submit; unset: the queue's */
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
          acceptedId(outcome);
          if (++done === count) resolve((count * 1_000) / (performance.now() - start));
          else begin();
        });
      };
      for (let lane = 0; lane < inFlight; lane++) begin();
    });
  }

  /** Keyless ones, until the server is gone. @param onAnswer told the id of each that was accepted */
  submitUntilBroken(inFlight: number, onAnswer: (id: string) => void): Promise<void> {
    return new Promise((resolve) => {
      let open = 0;
      const begin = (): void => {
        open += 1;
        this.session.send(this.#call(''), (outcome) => {
          open -= 1;
          if (outcome instanceof Error) {
            if (open === 0) resolve();
            return;
          }
          onAnswer(acceptedId(outcome));
          begin();
        });
      };
      for (let lane = 0; lane < inFlight; lane++) begin();
    });
  }

  #next(): SubmitCall {
    return this.#call(this.#keys[this.#submitted++ % KEYS] ?? '');
  }

  #call(key: string): SubmitCall {
    const call = submit([newItem(key, PAYLOAD)]);
    call.value.durability = this.durability;
    return call;
  }
}

function acceptedId(outcome: Outcome | Error): string {
  const [result] = outcomeValue(outcome, 'submit').results;
  if (result?.decision !== Decision.DECISION_ACCEPT) throw new Error(`an item was answered ${result?.decision}`);
  return result.itemId;
}
