/**
 * Writes `dist/bundle/main.js`: the compiled sidecar and its commands in a few files. Node loads it in half the time, and tests start
 * it many hundred times. What ships is `dist/src`: its start is tested with the commands, the package and the image.
 *
 *     node dist/test/bundle/write.js
 */
import { readFileSync, rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { ROOT } from '../project/repository.js';

const SOURCE = join(ROOT, 'dist/src');
const FOLDER = join(ROOT, 'dist/bundle');
/** They find files of their own beside their code, are imported by name from CommonJS, or are not installed at all (pg-native). */
const NOT_BUNDLED = ['@redis/client', 'lmdb', 'pino', 'pino-pretty', 'pg-native', 'grpc-health-check'];
/** Packages in CommonJS call `require` for Node's own modules. */
const REQUIRE = 'import { createRequire as requireOf } from "node:module"; const require = requireOf(import.meta.url);';

/** A module goes on finding the files that lie beside it in `dist/src`. */
const ownUrls: Plugin = {
  name: 'own-urls',
  setup: (of) =>
    of.onLoad({ filter: /\/dist\/src\/.*\.js$/ }, ({ path }) => {
      const url = `new URL(${JSON.stringify(relative(FOLDER, path))}, import.meta.url).href`;
      return { contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', url), resolveDir: dirname(path) };
    }),
};

rmSync(FOLDER, { recursive: true, force: true });
await build({
  entryPoints: [join(SOURCE, 'main.js')],
  outdir: FOLDER,
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  external: NOT_BUNDLED,
  banner: { js: REQUIRE },
  // Errors and logs name classes.
  keepNames: true,
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  logLevel: 'warning',
  plugins: [ownUrls],
});
