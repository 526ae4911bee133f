/** Follow-ups to other groups that find no room there, in the log: when they have not for a while, and when all do again. */
import type { HeldUp } from '../../../cluster/member/sending.js';

interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** @param heldUp unset: none are any more */
export function logHeldUp(log: Log, heldUp: HeldUp | undefined): void {
  if (heldUp === undefined) return log.info({}, 'follow-ups to other groups are taken again');
  const { source, target, why } = heldUp;
  const reason = 'description' in why ? why.description : why.kind;
  log.warn(
    { from: source, to: target, reason },
    'follow-ups to another group are held up; they are sent again until they are taken',
  );
}
