/** The settings of a queue, as they are in force. */
import type { Policy as PolicyMessage } from '../gen/keyturn/v1/admin.js';
import type { Json } from '../wire/client.js';
import { Part } from './part.js';

export function Policy({ of }: { readonly of: Json<PolicyMessage> | undefined }) {
  if (of === undefined) return null;
  return (
    <Part title="Settings in force">
      <details>
        <summary>Show them</summary>
        <dl class="settings">
          {Object.entries(of).map(([name, value]) => (
            <div key={name}>
              <dt>{name.replace(/[A-Z]/g, (big) => `_${big.toLowerCase()}`)}</dt>
              <dd>{textOf(value)}</dd>
            </div>
          ))}
        </dl>
      </details>
    </Part>
  );
}

function textOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.entries(value)
    .map(([name, inner]) => `${name} ${String(inner)}`)
    .join(', ');
}
