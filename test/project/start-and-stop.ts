/** Starts a sidecar on free ports, asks it how it is, and stops it: the shortest proof that an installation works. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export interface Installation {
  readonly node: string;
  /** The words before `serve`. */
  readonly keyturn: readonly string[];
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  /** What is looked at while it runs. */
  readonly inspect?: (pid: number, http: string) => void;
}

const LONGEST_START_MS = 30_000;

/** @throws when it does not start, is not alive, or does not end with exit code 0 */
export async function startAndStop({ node, keyturn, folder, environment, inspect }: Installation): Promise<void> {
  const args = [
    ...keyturn,
    'serve',
    '--listen',
    '127.0.0.1:0',
    '--http-listen',
    '127.0.0.1:0',
    '--console-listen',
    '127.0.0.1:0',
  ];
  const sidecar = spawn(node, args, { cwd: folder, env: environment, stdio: ['ignore', 'inherit', 'pipe'] });
  try {
    const http = await listening(sidecar);
    const answer = await fetch(`http://${http}/healthz`);
    if (!answer.ok) throw new Error(`/healthz answered ${answer.status}`);
    inspect?.(sidecar.pid ?? 0, http);
    sidecar.kill('SIGTERM');
    if (sidecar.exitCode === null && sidecar.signalCode === null) await once(sidecar, 'exit');
    if (sidecar.exitCode !== 0) throw new Error(`it ended with ${sidecar.exitCode ?? sidecar.signalCode}`);
  } finally {
    sidecar.kill('SIGKILL');
  }
}

/** @returns where it serves HTTP. Its log goes on to standard output as long as it runs. */
function listening(sidecar: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    if (sidecar.stderr === null) return reject(new Error('it has no standard error'));
    const timer = setTimeout(() => reject(new Error('it took too long to listen')), LONGEST_START_MS);
    const lines = createInterface({ input: sidecar.stderr });
    lines.on('line', (line) => {
      process.stdout.write(`  ${line}\n`);
      const http = httpOf(line);
      if (http === undefined) return;
      clearTimeout(timer);
      resolve(http);
    });
    lines.on('close', () => {
      clearTimeout(timer);
      reject(new Error('it ended before it listened'));
    });
  });
}

function httpOf(line: string): string | undefined {
  if (!line.startsWith('{')) return undefined;
  const entry: unknown = JSON.parse(line);
  if (typeof entry !== 'object' || entry === null || !('http' in entry)) return undefined;
  return typeof entry.http === 'string' ? entry.http : undefined;
}
