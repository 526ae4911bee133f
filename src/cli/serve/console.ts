/** The console of a sidecar, if it has one: a convenience, which keeps no sidecar from its work unless somebody asked for its address. */
import { formatAddress, isLocal, parseAddress } from '../../config/address.js';
import type { Config } from '../../config/config.js';
import type { ConsoleOptions, ConsoleServer } from '../../console/server.js';
import type { Logger } from '../../observability/logger.js';
import { cannotListen } from './cannot-listen.js';

export interface OpenConsole {
  /** For a browser. */
  readonly url: string;
  readonly server: ConsoleServer;
}

type Parts = Omit<ConsoleOptions, 'host' | 'port' | 'names' | 'log' | 'limits'> & { readonly log: Logger };

/** Unset: there is none. @throws CommandFailure when it cannot listen where somebody asked for it */
export async function openConsole(config: Config, { certificates, ...parts }: Parts): Promise<OpenConsole | undefined> {
  const { consoleListen, consoleHosts: names } = config.server;
  const address = consoleListen === undefined ? undefined : parseAddress(consoleListen);
  if (address?.kind !== 'tcp') return undefined;
  const { host, port } = address;
  // Only here: most of those that a test, or a script, starts have none.
  const { startConsole } = await import('../../console/server.js');
  const tls = isLocal(address) ? undefined : certificates;
  const { limits } = config.coordinator;
  const start = (at: number) => startConsole({ ...parts, limits, host, port: at, names, certificates: tls });
  const listens = (server: ConsoleServer): OpenConsole => {
    const where = formatAddress({ kind: 'tcp', host, port: server.port });
    return { url: `${tls === undefined ? 'http' : 'https'}://${where}/`, server };
  };
  try {
    return listens(await start(port));
  } catch (error) {
    if (config.isConsoleAskedFor) throw cannotListen('console_listen', formatAddress(address), error);
    return elsewhere(error, formatAddress(address), async () => listens(await start(0)), parts.log);
  }
}

/** Another sidecar on this machine has the usual port: nobody is kept from theirs by that. */
async function elsewhere(
  why: unknown,
  usual: string,
  open: () => Promise<OpenConsole>,
  log: Logger,
): Promise<OpenConsole | undefined> {
  const reason = why instanceof Error ? why.message : String(why);
  try {
    const found = await open();
    const advice = 'console_listen (--console-listen) fixes an address, or says "off"';
    log.warn({ usual, console: found.url, reason }, `the console is elsewhere; ${advice}`);
    return found;
  } catch {
    log.warn({ usual, reason }, 'there is no console: it can listen nowhere on loopback');
    return undefined;
  }
}
