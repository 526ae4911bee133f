import { Call } from './call.js';

/** One who asks for more from within its answer: once the answer has been written down, and before it was given. */
export class AskingCall<T> extends Call<T> {
  constructor(
    deliverable: boolean,
    private readonly answered: (call: AskingCall<T>) => void,
  ) {
    super(deliverable);
  }

  goOn(): void {
    this.answered(this);
  }
}
