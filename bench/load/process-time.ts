/** CPU time of a program that is not ours, as the system counts it. */
import { readdir, readFile } from 'node:fs/promises';

/** Of the clock in which Linux counts it, on every machine: 100 a second (`USER_HZ`). */
const TICKS = 100;
/** In /proc/PID/stat, after the name, which may contain anything. */
const FIELD = { parent: 1, user: 11, system: 12, childrenUser: 13, childrenSystem: 14 } as const;

interface Times {
  readonly parent: number;
  readonly seconds: number;
  /** Of its children that have ended. */
  readonly ended: number;
}

/**
 * CPU seconds since its start, with those of its children (a PostgreSQL has a process for each connection). NaN where
 * nobody can tell: the system has no /proc.
 */
export async function cpuSecondsOf(pid: number): Promise<number> {
  const own = await timesOf(pid);
  if (own === undefined) return Number.NaN;
  const others = await Promise.all((await pids()).map(timesOf));
  return others.reduce((sum, times) => (times?.parent === pid ? sum + times.seconds : sum), own.seconds + own.ended);
}

async function pids(): Promise<number[]> {
  const names = await readdir('/proc').catch((): string[] => []);
  return names.map(Number).filter((pid) => pid > 0);
}

/** @returns unset: it is gone, or there is no /proc */
async function timesOf(pid: number): Promise<Times | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => undefined);
  if (stat === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const field = (name: keyof typeof FIELD) => Number(fields[FIELD[name]]);
  return {
    parent: field('parent'),
    seconds: (field('user') + field('system')) / TICKS,
    ended: (field('childrenUser') + field('childrenSystem')) / TICKS,
  };
}
