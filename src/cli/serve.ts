/** `keyturn serve`: its flags and its help. What it does is in serve/. */

import { type Command, Option } from 'commander';
import { CLUSTER_DEFAULTS, MEMBER, PEER_TLS } from '../config/cluster-settings.js';
import type { YamlValue } from '../config/kinds.js';
import { CONFIG_FILE, SERVER_DEFAULTS, SERVER_SETTINGS, type ServerSetting } from '../config/server-settings.js';
import { fieldsOf, writeField } from '../config/settings-table.js';
import { TLS_DEFAULTS, TLS_SETTINGS } from '../config/tls-settings.js';
import type { ServeFlags } from './serve/flags.js';

const EXAMPLES = `
Settings come from the file, then the environment, then these flags. Limits and the policies of queues are set in the file:

  default: { lease: 20s, wait: 3s }
  queues:
    cache-refresh: { waiting_per_key: 1, min_interval: 2s }
    orders: { waiting_per_key: unlimited, on_dead_letter: park }

Examples:
  keyturn serve                                        gRPC on 127.0.0.1:7420, HTTP on 127.0.0.1:7421
  keyturn serve --config keyturn.yaml
  keyturn serve --listen unix:/run/keyturn/keyturn.sock
  keyturn serve --listen 0.0.0.0:7420 --tls-cert server.pem --tls-key server.key --tls-client-ca clients.pem
  keyturn serve --config keyturn.yaml --check-config   says everything that is wrong, and exits
  keyturn serve --print-config > keyturn.yaml          a file with every setting, to start from

SIGTERM and SIGINT drain: no new turns, live ones may end, exit code 0 when none is left or after drain_timeout.
A second signal ends it now, with exit code 143 (SIGTERM) or 130 (SIGINT).
Exit code 1: what is there fails: a port or data directory that is in use, a damaged directory. Exit code 2: a setting is
wrong, or a file that it names is not there or cannot be read.`;

export function registerServe(program: Command): void {
  const command = program
    .command('serve')
    .summary('run the sidecar')
    .description('Runs the sidecar.')
    .addHelpText('after', EXAMPLES);
  command.addOption(
    new Option(`${CONFIG_FILE.flag} <${CONFIG_FILE.operand}>`, `${CONFIG_FILE.doc} (env: ${CONFIG_FILE.env})`),
  );
  for (const field of fieldsOf(SERVER_SETTINGS))
    command.addOption(optionOf(SERVER_SETTINGS[field], writeField(SERVER_SETTINGS, field, SERVER_DEFAULTS)));
  for (const field of fieldsOf(TLS_SETTINGS))
    command.addOption(optionOf(TLS_SETTINGS[field], writeField(TLS_SETTINGS, field, TLS_DEFAULTS)));
  const { tls: peerTls, ...member } = CLUSTER_DEFAULTS;
  for (const field of fieldsOf(MEMBER.settings))
    command.addOption(optionOf(MEMBER.settings[field], writeField(MEMBER.settings, field, member)));
  for (const field of fieldsOf(PEER_TLS.settings))
    command.addOption(optionOf(PEER_TLS.settings[field], writeField(PEER_TLS.settings, field, peerTls)));
  command
    .option('--check-config', 'check all settings, say what is wrong, and exit')
    .option('--print-config', 'print all settings that are in effect as YAML, and exit')
    .action(async (flags: ServeFlags) => {
      // Only here: the client commands need not load a server.
      const { serve } = await import('./serve/serve.js');
      await serve(flags);
    });
}

/** Text, whatever it is read as: the configuration reads all sources alike. */
function optionOf({ flag, operand, env, doc }: Omit<ServerSetting<unknown>, 'kind'>, builtIn: YamlValue): Option {
  return new Option(`${flag} <${operand}>`, `${doc} (env: ${env}, default: ${String(builtIn)})`);
}
