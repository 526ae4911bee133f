/** `npm run scaling`: how far a cluster carries, by simulation with measured costs; the tables of docs/SCALING.md. */
import { tables } from './ceilings.js';

const { hotQueue, sidecars } = tables();
process.stdout.write(`${hotQueue}\n\n${sidecars}\n`);
