import { type ChildProcess, spawn } from 'node:child_process';

/**
 * Reads what its keyturn says. A keyturn that is killed says nothing more, and its pipe ends: then the group is told to end,
 * and killed. Nothing that a terminal sends to keyturn reaches it.
 */
const SCRIPT = `trap '' HUP INT QUIT TERM
wait=$2
while read -r said; do
  case $said in
    ended) exit 0 ;;
    stopping) wait=0 ;;
  esac
done
kill -s TERM -- "-$1" 2>/dev/null
sleep "$wait"
kill -s KILL -- "-$1" 2>/dev/null`;

/** A small process beside a process group that ends it when this process is gone, however that ended. */
export class Guard {
  readonly #process: ChildProcess;

  /** @param killAfter ms from SIGTERM to SIGKILL */
  constructor(group: number, killAfter: number, onMissing: (why: string) => void) {
    const words = ['-c', SCRIPT, 'keyturn-guard', String(group), (killAfter / 1_000).toFixed(3)];
    // In a session of its own: who kills the group of keyturn does not kill what is there for that case.
    this.#process = spawn('sh', words, { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
    this.#process.once('error', ({ message }) => onMissing(message));
    // It is gone: then it has nothing more to do, or nothing can be done about it.
    this.#process.stdin?.on('error', () => {});
    this.#process.unref();
  }

  /** The group has got its SIGTERM: from now on it is killed without another wait. */
  stopping(): void {
    this.#process.stdin?.write('stopping\n');
  }

  /** Nothing of the group runs any more. */
  ended(): void {
    this.#process.stdin?.end('ended\n');
  }
}
