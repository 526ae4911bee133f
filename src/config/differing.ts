/** The settings that somebody said otherwise than they are built in: for who looks at a running sidecar. */
import { parse, stringify } from 'yaml';
import { type Config, loadConfig } from './config.js';
import { printConfig } from './print.js';

/** Of the text: thousands of queues may be named, and somebody is to read it. */
const LONGEST = 65_536;

/** YAML. Secrets are never printed. Empty: nothing differs. */
export function differingSettings(config: Config): string {
  const { queues, ...settings } = mappingIn(printConfig(config));
  const { queues: _none, ...builtIn } = mappingIn(printConfig(loadConfig({}, {})));
  const named = isMapping(queues) ? Object.entries(queues) : [];
  const its = named.map(([name, policy]) => [name, differing(policy, settings['default']) ?? {}] as const);
  const differs = differing(settings, builtIn) ?? {};
  const found = isMapping(differs) && its.length > 0 ? { ...differs, queues: Object.fromEntries(its) } : differs;
  const text = isMapping(found) && Object.keys(found).length === 0 ? '' : stringify(found);
  return text.length <= LONGEST
    ? text
    : `${text.slice(0, LONGEST)}\n# and more: "keyturn serve --print-config" has all\n`;
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
