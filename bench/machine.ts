import { execFile } from 'node:child_process';
import { cpus, loadavg, totalmem, type } from 'node:os';
import { promisify } from 'node:util';

/** What a figure depends on, without saying whose machine it is. */
export function describeMachine(): string {
  const processors = cpus();
  const model = processors[0]?.model.trim() ?? 'unknown processor';
  const gib = Math.round(totalmem() / 2 ** 30);
  return `${processors.length} × ${model}, ${gib} GiB, ${type()}, Node ${process.versions.node}`;
}

/** What to tell who starts a run while the machine is busy with something else; unset: it is not. */
export function describeLoad(): string | undefined {
  const [load = 0] = loadavg();
  const processors = cpus().length;
  if (load < processors) return undefined;
  return `the machine is busy (load ${load.toFixed(1)} on ${processors} processors): expect a wide spread\n`;
}

/** The commit that was measured; `-dirty` when files differ from it. */
export async function describeCommit(root: string): Promise<string> {
  try {
    const run = promisify(execFile);
    const { stdout } = await run('git', ['describe', '--always', '--dirty', '--abbrev=12', '--exclude=*'], {
      cwd: root,
    });
    return stdout.trim();
  } catch {
    // A tarball has no history, and a machine may have no git: the figures are worth keeping all the same.
    return 'unknown';
  }
}
