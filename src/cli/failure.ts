/** A command cannot go on. Said to people in one message, without a stack; the exit code goes with it. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  constructor(
    message: string,
    readonly exitCode: number,
  ) {
    super(message);
  }
}
