/** Certificates for scenarios of TLS, by the command that the tests of the server have for other suites. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const MAKE = fileURLToPath(new URL('../../../test/support/make-certificates.js', import.meta.url));
const MAKING_MS = 30_000;

/** Writes `ca.pem`, `server.pem`, `server.key` and others into a new folder of this one. @returns the new folder */
export async function makeCertificates(folder: string): Promise<string> {
  const certificates = join(folder, 'certificates');
  await promisify(execFile)(process.execPath, [MAKE, certificates], { timeout: MAKING_MS });
  return certificates;
}
