/** A small line of what a number was while one looked. The number itself stands beside it. */

const WIDTH = 96;
const HEIGHT = 22;

export function Spark({ of }: { readonly of: readonly number[] }) {
  const most = Math.max(1, ...of);
  const step = WIDTH / Math.max(1, of.length - 1);
  const points = of.map(
    (value, at) => `${(at * step).toFixed(1)},${(HEIGHT - 2 - (value / most) * (HEIGHT - 4)).toFixed(1)}`,
  );
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} aria-hidden="true">
      {of.length > 1 && <polyline points={points.join(' ')} />}
    </svg>
  );
}

const KEPT = 60;

/** What numbers of many names were, the last minutes only, and only of those that are shown. */
export class Histories {
  #of = new Map<string, readonly number[]>();

  add(values: ReadonlyMap<string, number>): void {
    const next = new Map<string, readonly number[]>();
    for (const [name, value] of values) next.set(name, [...(this.#of.get(name) ?? []), value].slice(-KEPT));
    this.#of = next;
  }

  of(name: string): readonly number[] {
    return this.#of.get(name) ?? [];
  }
}
