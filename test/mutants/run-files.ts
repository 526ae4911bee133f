/** `node run-files.js FILE…`: the tests of several files in one process. */
import { pathToFileURL } from 'node:url';

for (const file of process.argv.slice(2)) await import(pathToFileURL(file).href);
