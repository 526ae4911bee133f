/** What the coordinator says about its disk, whenever that changes. */
export type StoreState =
  /** At the start, at least every second, and at the end of recovery. Every call is refused meanwhile. */
  | { readonly at: 'recovering'; readonly rows: number; readonly of: number }
  /** All calls are taken. */
  | { readonly at: 'ready' }
  /** Writing fails and is tried again: calls that touch durable queues are refused. */
  | { readonly at: 'failing'; readonly reason: string }
  /** What this key's items carry could not be read; they are dead letters. Nothing else changes. */
  | { readonly at: 'unreadable'; readonly queue: string; readonly key: string; readonly reason: string }
  | ({ readonly at: 'closed' } & StoreEnd);

export interface StoreEnd {
  /** Changes that the disk did not take. */
  readonly unwritten: number;
  /** Why the directory may not be free; unset: it is. */
  readonly problem: string | undefined;
}

export type EmitState = (state: StoreState) => void;
