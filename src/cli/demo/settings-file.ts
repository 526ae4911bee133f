import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Puts settings in a file of its own while `use` runs. */
export async function withSettings<T>(yaml: string, use: (file: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'keyturn-demo-'));
  try {
    const file = join(folder, 'keyturn.yaml');
    await writeFile(file, yaml);
    return await use(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
