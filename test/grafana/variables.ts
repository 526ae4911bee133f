/** Puts values in place of Grafana's variables, as its data source for Prometheus does. */

export interface Chosen {
  /** What was chosen of each variable; `All` is the variable's own value for all. */
  readonly values: Readonly<Record<string, readonly string[] | 'All'>>;
  /** Of `$__rate_interval`, as `1m`. */
  readonly rateInterval: string;
  /** Of `$__range`. */
  readonly range: string;
}

/** What our variables have for all; a check of the dashboards holds it. */
export const ALL_VALUE = '.+';

/** @throws when a variable is left that nobody knows */
export function putIn(query: string, { values, rateInterval, range }: Chosen): string {
  return query.replace(/\$(?:\{(\w+)\}|(\w+))/g, (variable, braced?: string, bare?: string) => {
    const name = braced ?? bare ?? '';
    if (name === '__rate_interval') return rateInterval;
    if (name === '__range') return range;
    // What a regular expression of `label_replace` caught; Grafana leaves it alone too.
    if (/^\d$/.test(name)) return variable;
    const chosen = values[name];
    if (chosen === undefined) throw new Error(`nobody knows ${variable} in ${query}`);
    if (chosen === 'All') return ALL_VALUE;
    return chosen.length === 1 ? chosen.map(escaped).join('') : `(${chosen.map(escaped).join('|')})`;
  });
}

/**
 * A value inside a regular expression inside a text in double quotes. Grafana before 11.3 left the double quote alone; no
 * name of a queue has one.
 */
function escaped(value: string): string {
  return value
    .replaceAll('\\', '\\\\\\\\')
    .replaceAll('"', '\\\\\\"')
    .replace(/[$^*{}[\]'+?.()|]/g, '\\\\$&');
}
