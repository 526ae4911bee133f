/** The player of the TypeScript client: does what the lines on stdin say, with the client as an application uses it. */
import { createInterface } from 'node:readline';
import { Player } from './player.js';

const player = new Player((line) => void process.stdout.write(`${line}\n`));

createInterface({ input: process.stdin })
  .on('line', (line) => player.take(line))
  .on('close', () => void player.end().finally(() => process.exit(0)));
