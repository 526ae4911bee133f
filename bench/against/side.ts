/** One commit's side of a row that is compared with another commit. */

/** The `dist/` of a built work tree. */
export type Dist = URL;

export const TODAY: Dist = new URL('../../', import.meta.url);

export interface Side {
  /** In the order in which they run: what one leaves behind, the next may take. */
  readonly parts: readonly Part[];
  close(): Promise<void>;
}

export interface Part {
  /** Unset: the row has one. */
  readonly name: string | undefined;
  /** What is counted: `pairs`. */
  readonly unit: string;
  /**
   * Which ratio is judged. CPU time where everything runs in one process: other programs of the machine do not change
   * it. Time on the wall where the load has a process of its own: there CPU time is told beside it.
   */
  readonly judgedBy: 'cpu' | 'wall';
  lap(): Promise<Work>;
  /** CPU seconds, since its start, of the process that is measured. */
  cpuSeconds(): Promise<number>;
}

export interface Work {
  readonly operations: number;
  /** On the wall. */
  readonly seconds: number;
}

/** Of laps that tell their rate: operations per second on the wall. */
export function workOf(operations: number, rate: number): Work {
  return { operations, seconds: operations / rate };
}

/** CPU seconds of this process, threads and garbage collection included. */
export async function ownCpuSeconds(): Promise<number> {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
