/** Reads the settings and does what was asked with them: check, print, or run. */
import { type Config, loadConfig } from '../../config/config.js';
import { printConfig } from '../../config/print.js';
import { ConfigError } from '../../config/problem.js';
import { createLogger } from '../../observability/logger.js';
import { EXIT } from '../exit-codes.js';
import { CommandFailure } from '../failure.js';
import type { ServeFlags } from '../serve.js';
import { packageVersion } from '../version.js';
import { drainOnSignals } from './shutdown.js';
import { startSidecar } from './sidecar.js';

export async function serve(flags: ServeFlags): Promise<void> {
  const config = readConfig(flags);
  if (flags.printConfig === true) process.stdout.write(printConfig(config));
  else if (flags.checkConfig === true) process.stdout.write('the configuration is fine\n');
  else await run(config);
}

async function run(config: Config): Promise<void> {
  const terminal = process.stderr.isTTY === true;
  const version = packageVersion();
  const log = createLogger({ level: config.server.logLevel, terminal });
  const sidecar = await startSidecar(config, { log, version });
  drainOnSignals(sidecar, { log, timeout: config.server.drainTimeout });
  const { grpc, http } = sidecar;
  log.info({ version, grpc, http }, 'listening');
  await sidecar.ready.catch(async (error: unknown) => {
    await sidecar.stop();
    throw error;
  });
  if (terminal)
    process.stderr.write(
      `\nKeyturn ${version} gives turns at ${grpc} (gRPC), and tells how it is at http://${http}/metrics. Ctrl-C ends it.\n\n`,
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
