/** A map by name that knows the order of its names: sorted when somebody asks and a name has come or gone since. */
export class Named<T> extends Map<string, T> {
  #sorted: readonly string[] | undefined;

  override set(name: string, value: T): this {
    if (!this.has(name)) this.#sorted = undefined;
    return super.set(name, value);
  }

  override delete(name: string): boolean {
    const hadIt = super.delete(name);
    if (hadIt) this.#sorted = undefined;
    return hadIt;
  }

  override clear(): void {
    this.#sorted = undefined;
    super.clear();
  }

  /** Names that come after this one, in their order. Names may come and go meanwhile: they are those of when it was asked. */
  *after(name: string): Generator<string, undefined> {
    this.#sorted ??= [...this.keys()].sort();
    const names = this.#sorted;
    for (let at = firstAfter(names, name); at < names.length; at++) yield names[at] ?? '';
  }
}

/** Where the first of the sorted names stands that is larger. */
function firstAfter(names: readonly string[], name: string): number {
  let low = 0;
  let high = names.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((names[middle] ?? '') > name) high = middle;
    else low = middle + 1;
  }
  return low;
}
