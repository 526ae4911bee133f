/** Certificates for scenarios of TLS, by the command that the tests of the server have for other suites. */
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { cp, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const MAKE = fileURLToPath(new URL('../../../test/support/make-certificates.js', import.meta.url));
const MAKING_MS = 60_000;

let made: Promise<string> | undefined;

/**
 * Writes `ca.pem`, `server.pem`, `server.key` and others into a new folder of this one. A run has one set of them: making keys
 * takes longer than most scenarios. Each scenario has a copy, which it may change. @returns the new folder
 */
export async function makeCertificates(folder: string): Promise<string> {
  made ??= makeOnce();
  const certificates = join(folder, 'certificates');
  await cp(await made, certificates, { recursive: true });
  return certificates;
}

async function makeOnce(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'keyturn-certificates-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  await promisify(execFile)(process.execPath, [MAKE, folder], { timeout: MAKING_MS });
  return folder;
}
