/**
 * For suites in other languages: `node dist/test/support/make-certificates.js FOLDER` writes the files that
 * {@link CERTIFICATE_FILES} lists.
 */
import { CERTIFICATE_FILES, writeCertificates } from './certificate-files.js';

const [folder, ...others] = process.argv.slice(2);
if (folder === undefined || others.length > 0) {
  const files = Object.entries(CERTIFICATE_FILES).map(([name, what]) => `  ${name.padEnd(20)}${what}\n`);
  process.stderr.write(`usage: node dist/test/support/make-certificates.js FOLDER\n\nwrites there:\n${files.join('')}`);
  process.exitCode = 2;
} else {
  await writeCertificates(folder);
}
