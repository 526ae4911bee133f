/** What a client may be told while its sidecar dies again and again. */
import { failureOf } from '#client/words/failure';

const CLEAR: ReadonlySet<string> = new Set(['AbortError', 'RetryLater', 'Release', 'DeadLetter', 'TurnLostError']);

/** The sidecar is away, the turn is lost, the caller called it off; or a handler of this test threw, as it was told to. */
export function isExpected(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (CLEAR.has(error.name) || error.message === 'failed') return true;
  const failure = failureOf(error);
  return failure === 'away' || failure === 'lost' || failure === 'cancelled';
}
