type Compare<T> = (a: T, b: T) => number;

/** Merge sort that stops after every `size` entries: sorting a million in one go would stall everybody. */
export function* sortInSlices<T>(all: readonly T[], compare: Compare<T>, size: number): Generator<undefined, T[]> {
  let runs: T[][] = [];
  for (let at = 0; at < all.length; at += size) {
    if (at > 0) yield;
    runs.push(all.slice(at, at + size).sort(compare));
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let at = 0; at < runs.length; at += 2)
      merged.push(yield* merge(runs[at] ?? [], runs[at + 1] ?? [], compare, size));
    runs = merged;
  }
  return runs[0] ?? [];
}

function* merge<T>(a: readonly T[], b: readonly T[], compare: Compare<T>, size: number): Generator<undefined, T[]> {
  const merged: T[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const [left, right] = [a[i], b[j]];
    if (left !== undefined && (right === undefined || compare(left, right) <= 0)) {
      merged.push(left);
      i += 1;
    } else if (right !== undefined) {
      merged.push(right);
      j += 1;
    }
    if (merged.length % size === 0) yield;
  }
  return merged;
}
