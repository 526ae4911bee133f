/** Reads the settings and does what was asked with them: check, print, or run. */
import { type Config, loadConfig } from '../../config/config.js';
import { printConfig } from '../../config/print.js';
import { ConfigError } from '../../config/problem.js';
import { createLogger } from '../../observability/logger.js';
import { EXIT } from '../exit-codes.js';
import { CommandFailure } from '../failure.js';
import { packageVersion } from '../version.js';
import type { ServeFlags } from './flags.js';
import { drainOnSignals } from './shutdown.js';
import { startSidecar } from './sidecar.js';

export async function serve(flags: ServeFlags): Promise<void> {
  const config = readConfig(flags);
  if (flags.printConfig === true) process.stdout.write(printConfig(config));
  else if (flags.checkConfig === true) process.stdout.write(checked(config));
  else await run(config);
}

/** Warnings are told, and are no reason to exit with another code: a pipeline may have written the file for later. */
function checked({ warnings }: Config): string {
  const lines = warnings.map((warning) => `warning: ${warning}\n`);
  return `${lines.join('')}the configuration is fine\n`;
}

async function run(config: Config): Promise<void> {
  const terminal = process.stderr.isTTY === true;
  const version = packageVersion();
  const log = await createLogger({ level: config.server.logLevel, terminal });
  for (const warning of config.warnings) log.warn({ event: 'settings_doubtful' }, warning);
  const sidecar = await startSidecar(config, { log, version });
  drainOnSignals(sidecar, { log, timeout: config.server.drainTimeout });
  const { grpc, http, console } = sidecar;
  log.info({ version, grpc, http, console }, 'listening');
  await sidecar.ready.catch(async (error: unknown) => {
    await sidecar.stop();
    throw error;
  });
  if (terminal)
    process.stderr.write(
      `\nKeyturn ${version} gives turns at ${grpc} (gRPC), and tells how it is at http://${http}/metrics.${console === undefined ? '' : ` The console is at ${console} .`} Ctrl-C ends it.\n\n`,
    );
}

function readConfig(flags: ServeFlags): Config {
  try {
    return loadConfig(flags, process.env);
  } catch (error) {
    if (error instanceof ConfigError) throw new CommandFailure(error.message, EXIT.usage);
    throw error;
  }
}
