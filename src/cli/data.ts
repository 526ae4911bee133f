import type { Command } from 'commander';
import { registerDataCheck } from './data-check.js';
import { registerDataCopy } from './data-copy.js';
import { registerDataExport } from './data-export.js';
import { registerDataImport } from './data-import.js';
import { registerDataStats } from './data-stats.js';

const HELP = `
All but import only read, and work while a sidecar runs on the directory: they show it as it was at one moment.
docs/OPERATING.md tells about backups, moving a directory, and how large it gets.

Examples:
  $ keyturn data check --data-dir /var/lib/keyturn
  $ keyturn data export --data-dir /var/lib/keyturn --output items.jsonl
  $ keyturn data copy --data-dir /var/lib/keyturn /backup/keyturn-2026-11-20
`;

export function registerData(program: Command): void {
  const group = program
    .command('data')
    .summary('check, measure, copy, export or import a data directory')
    .description('What durable queues keep in a data directory, for people.')
    .addHelpText('after', HELP);
  registerDataCheck(group);
  registerDataStats(group);
  registerDataCopy(group);
  registerDataExport(group);
  registerDataImport(group);
}
