/**
 * The tree of the image, run as an engine runs it with `--read-only --cap-drop=ALL --security-opt=no-new-privileges`: a
 * root of its own that nobody can write, its user, a volume for the data. It takes a namespace of mounts, which only
 * root may make.
 */
import { execFileSync } from 'node:child_process';
import { chownSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type NeededProgram, needs } from '../support/needed-program.js';
import type { ImageFile } from './dockerfile.js';
import { startAndStop } from './start-and-stop.js';

const UTIL_LINUX = 'It comes with Linux: util-linux, or coreutils.';
const PROGRAMS: readonly NeededProgram[] = ['unshare', 'setpriv', 'nsenter', 'chroot'].map((name) => ({
  name,
  install: UTIL_LINUX,
}));

/** Root, application, volume, Node; the rest is what runs. The system is the one of this machine, without its own files. */
const ENTER = `
root=$1 app=$2 data=$3 node=$4; shift 4
mount -t tmpfs tmpfs "$root"
for name in bin sbin lib lib64; do
  if [ -L "/$name" ]; then cp -P "/$name" "$root/$name"
  elif [ -d "/$name" ]; then mkdir "$root/$name"; mount --bind "/$name" "$root/$name"; mount -o remount,bind,ro "$root/$name"; fi
done
mkdir -p "$root/usr" "$root/etc" "$root/app" "$root/proc" "$root/dev" "$root/tmp" "$root/var/lib/keyturn"
echo '127.0.0.1 localhost' > "$root/etc/hosts" # as engines do
mount --bind /usr "$root/usr"; mount -o remount,bind,ro "$root/usr"
mount -t tmpfs tmpfs "$root/usr/local"
mkdir "$root/usr/local/bin"; touch "$root/usr/local/bin/node"; mount --bind "$node" "$root/usr/local/bin/node"
mount -o remount,ro "$root/usr/local"
mount --bind "$app" "$root/app"; mount -o remount,bind,ro "$root/app"
mount --rbind /proc "$root/proc"; mount --rbind /dev "$root/dev"
mount --bind "$data" "$root/var/lib/keyturn"
mount -o remount,ro "$root"
exec chroot "$root" "$@"
`;

export async function startReadOnly(image: ImageFile, app: string, work: string): Promise<void> {
  const missing = 'skip' in needs(PROGRAMS) || process.getuid?.() !== 0;
  if (missing && process.env['CI'] === 'true') throw new Error('a namespace of mounts needs root and util-linux');
  if (missing) return void process.stdout.write('not run with a read-only root: that needs root, and util-linux\n');
  const root = join(work, 'root');
  mkdirSync(root);
  const asUser = userOf(image);
  const enter = ['--mount', '--propagation', 'private', 'sh', '-ec', ENTER, 'sh', root, app, volume(work)];
  const environment = { ...image.environment, KEYTURN_DATA_DIR: '/var/lib/keyturn/data' };
  await startAndStop({
    node: 'unshare',
    keyturn: [...enter, process.execPath, ...asUser, ...image.command.slice(0, -1)],
    folder: work,
    environment,
    inspect: (pid, http) => inspect(image, pid, http),
  });
}

/** A program as the user of the image, with no rights but that user's, where the image works. */
function userOf({ user }: ImageFile): readonly string[] {
  const [uid = '', gid = ''] = user.split(':');
  const rights = ['--clear-groups', '--no-new-privs', '--bounding-set=-all', '--inh-caps=-all'];
  return ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, ...rights, 'env', '--chdir=/app'];
}

/** As kubelet hands it over: root's, open to the group of the pod, with what a new file system has in it. */
function volume(work: string): string {
  const folder = join(work, 'volume');
  mkdirSync(join(folder, 'lost+found'), { recursive: true, mode: 0o700 });
  execFileSync('chmod', ['2770', folder]);
  chownSync(folder, 0, 1000);
  return folder;
}

function inspect(image: ImageFile, pid: number, http: string): void {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  for (const line of [/^Uid:\s1000\s1000\s/m, /^CapEff:\s0+$/m, /^CapBnd:\s0+$/m, /^NoNewPrivs:\s1$/m])
    if (!line.test(status)) throw new Error(`it runs with other rights: ${status}`);
  const inside = (words: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    execFileSync('nsenter', ['--target', String(pid), '--mount', '--root', '--', ...words], {
      env: { ...image.environment, ...env },
      stdio: ['ignore', 'inherit', 'pipe'],
    });
  inside([...userOf(image), ...image.healthCheck], { KEYTURN_HTTP_LISTEN: http });
  for (const folder of ['/', '/app', '/etc', '/tmp', '/usr', '/usr/local/bin', '/var/lib'])
    if (!isReadOnly(() => inside(['touch', `${folder}/written`]))) throw new Error(`${folder} can be written`);
  inside([...userOf(image), 'test', '-f', '/var/lib/keyturn/data/data.mdb']);
  process.stdout.write('healthy with a read-only root, as user 1000, without capabilities\n');
}

function isReadOnly(write: () => void): boolean {
  try {
    write();
    return false;
  } catch (error) {
    return error instanceof Error && error.message.includes('Read-only file system');
  }
}
