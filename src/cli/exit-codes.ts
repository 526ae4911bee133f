/** What the exit code of `keyturn` means. Scripts decide by it, so a code never changes its meaning. */
export const EXIT = {
  /** It worked. `run` passes the code of its command on instead. */
  ok: 0,
  /** It failed: the sidecar, a file, a port; the message says which. */
  failure: 1,
  /** The command line or a setting is wrong; nothing was done. */
  usage: 2,
  /** The sidecar cannot be reached (EX_UNAVAILABLE of sysexits.h). */
  unreachable: 69,
  /** Somebody else's turn still, after the wait; or declined as not needed (EX_TEMPFAIL of sysexits.h). */
  notMyTurn: 75,
  /** The turn was lost while it was held: what was done under it may have been done twice. */
  turnLost: 76,
} as const;

/** Ended by a signal before its work was done: 128 and the number of the signal, as shells have it. */
export function exitCodeOfSignal(signal: 'SIGINT' | 'SIGTERM'): number {
  return 128 + (signal === 'SIGINT' ? 2 : 15);
}

export const EXIT_CODES_HELP = `
Exit codes:
  ${EXIT.ok}   it worked (run: the code of its command)
  ${EXIT.failure}   it failed
  ${EXIT.usage}   the command line or a setting is wrong
  ${EXIT.unreachable}  the sidecar cannot be reached
  ${EXIT.notMyTurn}  not my turn yet, or declined
  ${EXIT.turnLost}  the turn was lost while it was held`;
