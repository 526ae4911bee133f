/** The program that tests start. Nothing else of a test names its path. */
import { join } from 'node:path';
import { ROOT } from '../project/repository.js';

/** The one that ships, in a few files: it starts in half the time (`test/bundle/write.ts`). */
export const MAIN = process.env['KEYTURN_SIDECAR_MAIN'] ?? join(ROOT, 'dist/bundle/main.js');
/** The one that ships, for the tests of its start. */
export const SHIPPED_MAIN = join(ROOT, 'dist/src/main.js');
