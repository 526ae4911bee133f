/**
 * Writes the licences of all packages that the bundler put into the page: their texts travel with copies of them.
 *
 *     node console/licenses.mjs META OUT
 *
 * Ends with 1 when a package has no text: a page without it must not be shipped.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [meta, out] = process.argv.slice(2);
if (meta === undefined || out === undefined) {
  process.stderr.write('node console/licenses.mjs META OUT\n');
  process.exit(2);
}

/** The innermost one of a path: a package may bring one of its own. */
const PACKAGE = /^(?:.*\/)?node_modules\/(@[^/]+\/[^/]+|[^/]+)/;

const folders = new Set();
for (const input of Object.keys(JSON.parse(readFileSync(meta, 'utf8')).inputs)) {
  const [folder] = PACKAGE.exec(input) ?? [];
  if (folder !== undefined) folders.add(folder);
}

function partOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((one) => /^licen[cs]e(\.|$)/i.test(one));
  if (file === undefined) throw new Error(`${name} ${version} (${license}) has no text of its licence in ${folder}`);
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
}

const parts = [...folders].sort().map(partOf);
const rule = `\n${'-'.repeat(80)}\n\n`;
writeFileSync(out, `This page is made with these libraries.\n${rule}${parts.join(rule)}`);
