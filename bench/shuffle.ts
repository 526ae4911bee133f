/** `count` indexes below `size` in a random order that is the same in every run. */
export function shuffled(size: number, count: number): Uint32Array {
  const random = generator(0x9e3779b9);
  return Uint32Array.from({ length: count }, () => Math.floor(random() * size));
}

/** Numbers in [0, 1). Source: G. Marsaglia, "Xorshift RNGs", 2003, with the shifts 13, 17, 5. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
