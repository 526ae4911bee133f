/** Players that are small enough to be written down in a test: what they do with a request is one function. */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/**
 * @param answers the body of a function of `request` and `say`, in JavaScript
 * @returns what is run
 */
export async function playerThat(t: TestContext, answers: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'keyturn-player-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const program = `
    const say = (line) => process.stdout.write(JSON.stringify(line) + '\\n');
    const answer = (request) => { ${answers} };
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const request = JSON.parse(line);
      if (request.op === 'hello') say({ id: request.id, ok: { language: 'go', version: '1.2.3', runtime: 'none' } });
      else answer(request);
    });`;
  const file = join(folder, 'player');
  await writeFile(join(folder, 'player.cjs'), program);
  await writeFile(file, `#!/bin/sh\nexec "${process.execPath}" "${join(folder, 'player.cjs')}" "$@"\n`);
  await chmod(file, 0o755);
  return file;
}
