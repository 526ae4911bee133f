/** The names in a certificate, out of the one text that Node gives. */

/**
 * `URI:spiffe://prod/orders, DNS:orders` as Node gives it. A name with a comma or a quote stands in quotes there, as JSON:
 * taken apart at its comma it could claim to be several.
 */
export function namesIn(text: string): readonly string[] {
  const names: string[] = [];
  const one = /([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,]*)(?:, |$)/gy;
  for (let found = one.exec(text); found !== null && found[0] !== ''; found = one.exec(text)) {
    const [, kind = '', value = ''] = found;
    const plain: unknown = value.startsWith('"') ? JSON.parse(value) : value;
    if (typeof plain === 'string') names.push(`${kind}:${plain}`);
  }
  return names;
}
