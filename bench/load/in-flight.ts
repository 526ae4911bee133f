/** Does `one` for each index below `count`, `inFlight` of them at once. @returns how many were done per second */
export async function perSecondInFlight(
  count: number,
  inFlight: number,
  one: (index: number) => Promise<void>,
): Promise<number> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) await one(next++);
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: inFlight }, lane));
  return (count * 1_000) / (performance.now() - start);
}
