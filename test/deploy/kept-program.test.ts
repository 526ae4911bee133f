/** What the other files take for helm and kubernetes-validate says what these programs say, each command a process of its own. */
import { deepEqual, equal, rejects } from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { needs } from '../support/needed-program.js';
import { KeptProgram } from './kept-program.js';
import { CHART, folderFor, HELM, HELM_LINES, run, runAlone, VALIDATE, valuesFile } from './tools.js';

const everything = valuesFile('everything.yaml');

/** Values of a file, of a flag, none after them, refused by the schema, refused by a template, and another command. */
const COMMANDS: readonly (readonly string[])[] = [
  ['template', 'orders', CHART, '--namespace', 'prod', '--values', everything],
  ['template', 'mails', CHART, '--set', 'store=redis://redis'],
  ['template', 'mails', CHART],
  ['template', 'mails', CHART, '--set', 'replicaCount=one'],
  ['template', 'mails', CHART, '--set', 'replicaCount=2'],
  ['lint', '--strict', CHART, '--values', everything],
  ['template', 'mails', CHART, '--no-such-flag'],
];

describe('commands that share a process', needs([HELM, HELM_LINES, VALIDATE]), () => {
  it('of helm answer as one that has its own does, whatever came before', async () => {
    const [shared, alone] = await Promise.all(
      [run, runAlone].map((how) => Promise.all(COMMANDS.map((args) => how(HELM, args)))),
    );
    deepEqual(shared, alone);
  });

  it('of kubernetes-validate do, too: for what is right, wrong, no YAML, not there', async (t) => {
    const folder = await folderFor(t);
    const file = (name: string, text: string) => {
      writeFileSync(join(folder, name), text);
      return ['--strict', '-k', '1.29', '-k', '1.37', join(folder, name)];
    };
    const service = 'apiVersion: v1\nkind: Service\nmetadata: { name: a }\n';
    const commands = [
      file('right.yaml', service),
      file('wrong.yaml', `${service}specs: {}\n`),
      file('torn.yaml', '{'),
      [join(folder, 'missing.yaml')],
    ];
    const [shared, alone] = await Promise.all(
      [run, runAlone].map((how) => Promise.all(commands.map((args) => how(VALIDATE, args)))),
    );
    deepEqual(shared, alone);
    deepEqual(
      shared?.map(({ code }) => code === 0),
      [true, false, false, false],
    );
    const changed = file('right.yaml', `${service}specs: {}\n`);
    equal((await run(VALIDATE, changed)).code, 1, 'it is read again');
  });

  it('fail when that process ends, with what it said; the next one starts it again', async () => {
    const program = new KeptProgram('sh', ['-c', 'read line; echo "no more" >&2; exit 3']);
    for (const command of ['template', 'lint']) await rejects(program.run([command]), /sh ended with 3: no more/);
  });
});
