/** Moments: rounded in one way, and asked in one way whether they have come. */

/** The first whole ms that is not before this moment. What is due, and every wait that is answered, is a whole ms. */
export function wholeMs(moment: number): number {
  return Math.ceil(moment);
}

/** The first whole ms at which `ms` from now have passed. */
export function after(now: number, ms: number): number {
  return wholeMs(now + ms);
}

/** Whether what is due then is over: it is at that very moment (S1). */
export function isOver(due: number, now: number): boolean {
  return now >= due;
}
