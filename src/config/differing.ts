/** The settings that somebody said otherwise than they are built in: for who looks at a running sidecar. */
import { parse, stringify } from 'yaml';
import { type Config, loadConfig } from './config.js';
import { POLICY_GROUP } from './policy-settings.js';
import { printConfig } from './print.js';
import { writeGroup } from './settings-table.js';

/** Of the text: thousands of queues may be named, and somebody is to read it. */
const LONGEST = 65_536;
/** Queues that are looked at. All of 10,000 as YAML and back would stop the sidecar for seconds. */
const MOST_QUEUES = 1_000;
const MORE = '# and more: "keyturn serve --print-config" has all\n';

const NONE: Config['coordinator']['queues'] = new Map();

/** YAML. Secrets are never printed. Empty: nothing differs. */
export function differingSettings(config: Config): string {
  const { coordinator } = config;
  const { queues: _own, ...settings } = mappingIn(
    printConfig({ ...config, coordinator: { ...coordinator, queues: NONE } }),
  );
  const { queues: _none, ...builtIn } = mappingIn(printConfig(loadConfig({}, {})));
  const named = [...coordinator.queues].slice(0, MOST_QUEUES);
  const its = named.map(
    ([name, policy]) => [name, differing(writeGroup(POLICY_GROUP.table, policy), settings['default']) ?? {}] as const,
  );
  const differs = differing(settings, builtIn) ?? {};
  const found = isMapping(differs) && its.length > 0 ? { ...differs, queues: Object.fromEntries(its) } : differs;
  const text = isMapping(found) && Object.keys(found).length === 0 ? '' : stringify(found);
  const isAll = text.length <= LONGEST && named.length === coordinator.queues.size;
  return isAll ? text : `${text.slice(0, LONGEST)}\n${MORE}`;
}

function mappingIn(text: string): Readonly<Record<string, unknown>> {
  const value: unknown = parse(text);
  return isMapping(value) ? value : {};
}

/** Of mappings what differs in them; of anything else the value itself. Unset: they are the same. */
function differing(value: unknown, builtIn: unknown): unknown {
  if (!isMapping(value) || !isMapping(builtIn))
    return JSON.stringify(value) === JSON.stringify(builtIn) ? undefined : value;
  const found = Object.entries(value).flatMap(([name, own]) => {
    const one = differing(own, builtIn[name]);
    return one === undefined ? [] : [[name, one] as const];
  });
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
