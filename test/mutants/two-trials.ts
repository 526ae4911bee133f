/** `node two-trials.js FOLDER [mutant]`: two trials at the same time, as a run has them, of the test of that folder. */
import { join } from 'node:path';
import { exitOnSignals, putInOf, tried } from './trial.js';
import { inFolder } from './workplace.js';

const [, , given = '', withMutant] = process.argv;
const mutant = withMutant === undefined ? undefined : putInOf(join(given, 'other.js'), '');
exitOnSignals();
const trial = () =>
  inFolder('two-trials', (folder) =>
    tried({ files: [join(given, 'wait.test.js')], env: {}, mutant, folder, limitMs: 600_000 }),
  );
await Promise.all([trial(), trial()]);
