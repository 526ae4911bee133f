/** The configuration in effect as YAML: complete, with a word on every setting, and loadable again. */
import { stringify } from 'yaml';
import { ACCESS_DOC, ACCESS_GROUP } from './access-settings.js';
import { CLUSTER_DEFAULTS, CLUSTER_DOC, CLUSTER_GROUP } from './cluster-settings.js';
import { type Config, DEFAULT_DOC, LIMITS_DOC, QUEUES_DOC } from './config.js';
import { KEEPALIVE_DOC, KEEPALIVE_GROUP } from './keepalive-settings.js';
import { LIMITS_GROUP } from './limit-settings.js';
import { POLICY_GROUP } from './policy-settings.js';
import { SERVER_SETTINGS } from './server-settings.js';
import { fieldsOf, snakeCase, type Table, writeField, writeGroup } from './settings-table.js';
import { TLS_DOC, TLS_SETTINGS } from './tls-settings.js';

export function printConfig(config: Config): string {
  const { server, tls, cluster, coordinator } = config;
  // A Map: an object would put names that look like numbers first.
  const queues = new Map(
    [...coordinator.queues].map(([name, policy]) => [name, writeGroup(POLICY_GROUP.table, policy)]),
  );
  const parts = [
    ...commented(SERVER_SETTINGS, server).map((part) => (config.isConsoleAskedFor ? part : unasked(part))),
    `\n# ${TLS_DOC}\ntls:`,
    ...indented(commented(TLS_SETTINGS, tls)),
    ...access(config.access),
    `\n# ${CLUSTER_DOC}\ncluster:`,
    ...indented(commented(CLUSTER_GROUP.table, cluster ?? CLUSTER_DEFAULTS)),
    `\n# ${KEEPALIVE_DOC}\nsession_keepalive:`,
    ...indented(commented(KEEPALIVE_GROUP.table, config.keepalive)),
    `\n# ${LIMITS_DOC}\nlimits:`,
    ...indented(commented(LIMITS_GROUP.table, coordinator.limits)),
    `\n# ${DEFAULT_DOC}\ndefault:`,
    ...indented(commented(POLICY_GROUP.table, coordinator.defaultPolicy)),
    `\n# ${QUEUES_DOC}\n${stringify({ queues })}`,
  ];
  return parts.join('\n');
}

/** Who says the usual address of the console means it, and has no other: so what nobody said is no more than a remark. */
function unasked(part: string): string {
  return part.replace(/^console_listen:/m, '# console_listen:');
}

/** Where there is none nothing is written: an empty one would let nobody in. */
function access(settings: Config['access']): readonly string[] {
  if (settings === undefined) return [`\n# ${ACCESS_DOC}\n# auth:`];
  return [`\n# ${ACCESS_DOC}\nauth:`, ...indented(commented(ACCESS_GROUP.table, settings))];
}

function commented<T extends object>(table: Table<T>, values: T): readonly string[] {
  return fieldsOf(table).map((field) => {
    const line = stringify({ [snakeCase(field)]: writeField(table, field, values) }).trimEnd();
    return `# ${table[field].doc}\n${line}`;
  });
}

function indented(parts: readonly string[]): readonly string[] {
  return parts.map((part) => part.replaceAll(/^/gm, '  '));
}
