/** Ranks from 0 by Zipf's law, from a number of [0, 1): the n-th in proportion to 1/(n + shift). A search in the sums of the weights. */
export function zipf(ranks: number, shift: number): (dice: number) => number {
  const sums: number[] = [];
  let sum = 0;
  for (let rank = 0; rank < ranks; rank++) {
    sum += 1 / (rank + 1 + shift);
    sums.push(sum);
  }
  return (dice) => firstAbove(sums, dice * sum);
}

function firstAbove(sorted: readonly number[], value: number): number {
  let low = 0;
  let high = sorted.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? Infinity) > value) high = middle;
    else low = middle + 1;
  }
  return low;
}
