/** Moments that can be compared over the life of this process, ms: nobody sets this clock. It begins at about the Unix epoch. */
export function steadyNow(): number {
  return performance.timeOrigin + performance.now();
}
