/** What an outsider sees of the example's workers: the requests that reach the store, in the order in which it had them. */
import type { Said } from '../support/node-process.js';

interface Run {
  readonly worker: string;
  readonly token: number;
  /** By the store's clock, ms. */
  readonly began: number;
}

/** Believes nobody but the store. */
export class PhotoLedger {
  /** Two workers on one photo at once, a token that goes back, an end without a beginning. */
  readonly problems: string[] = [];
  readonly #open = new Map<string, Run>();
  readonly #last = new Map<string, Run>();
  #runs = 0;

  /** A line of the store's log. */
  note(said: Said): void {
    if (said['method'] === undefined) return;
    const { photo, worker, method, stale } = said;
    const token = Number(said['token']);
    this.#must(stale === false, `${JSON.stringify(said)}: the token is smaller than one before`);
    if (method === 'GET') this.#begin(String(photo), { worker: String(worker), token, began: Number(said['at']) });
    else this.#end(String(photo), token);
  }

  /** The worker is gone: nothing that it had begun goes on. @returns the photos it was at */
  died(worker: number): readonly string[] {
    const photos = [...this.#open].filter(([, run]) => run.worker === String(worker)).map(([photo]) => photo);
    for (const photo of photos) this.#open.delete(photo);
    return photos;
  }

  /** Runs that were begun. */
  get runs(): number {
    return this.#runs;
  }

  get open(): number {
    return this.#open.size;
  }

  /** When the last run of a photo began, ms. */
  lastBegan(photo: string): number {
    return this.#last.get(photo)?.began ?? 0;
  }

  #begin(photo: string, run: Run): void {
    const other = this.#open.get(photo);
    this.#must(other === undefined, `${photo}: ${run.worker} begins while ${other?.worker} is at it`);
    const before = this.#last.get(photo);
    this.#must(run.token > (before?.token ?? 0), `${photo}: ${run.token} after ${before?.token}`);
    this.#open.set(photo, run);
    this.#last.set(photo, run);
    this.#runs += 1;
  }

  #end(photo: string, token: number): void {
    this.#must(this.#open.get(photo)?.token === token, `${photo}: the end of what did not begin`);
    this.#open.delete(photo);
  }

  #must(isSo: boolean, problem: string): void {
    if (!isSo) this.problems.push(problem);
  }
}
