/**
 * Scenarios that need no sidecar of their own play on one, each with queues of its own: what a scenario calls `q` has the
 * scenario's prefix there, and nobody who reads or writes scenarios notices.
 */
import { type Fields, isFields } from '../fields.js';

export class QueueNames {
  /** @param prefix empty: names stay as they are */
  constructor(private readonly prefix: string) {}

  /** What is sent: wherever a queue or a group is named, at any depth. A name that is empty or wrong stays so. */
  out(value: unknown): unknown {
    return this.prefix === '' ? value : renamed(value, (name) => (name === '' ? name : `${this.prefix}${name}`));
  }

  /** What came. */
  in(value: unknown): unknown {
    return this.prefix === '' ? value : renamed(value, (name) => this.#bare(name));
  }

  /** The queues of this scenario alone, of all that ListQueues tells. */
  own(queues: unknown): readonly unknown[] {
    if (!Array.isArray(queues)) return [];
    const own = queues.filter(isFields).filter(({ name }) => String(name).startsWith(this.prefix));
    return own.map((queue) => ({ ...queue, name: this.#bare(String(queue['name'])) }));
  }

  /** The `queues` of a sidecar's settings. */
  settings(queues: unknown): Fields {
    const entries = Object.entries(isFields(queues) ? queues : {});
    return Object.fromEntries(entries.map(([name, policy]) => [`${this.prefix}${name}`, policy]));
  }

  #bare(name: string): string {
    return name.startsWith(this.prefix) ? name.slice(this.prefix.length) : name;
  }
}

export const OWN_NAMES = new QueueNames('');

function renamed(value: unknown, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((one) => renamed(one, rename));
  if (!isFields(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([field, one]) => [field, renamedField(field, one, rename)]));
}

function renamedField(field: string, value: unknown, rename: (name: string) => string): unknown {
  if ((field === 'queue' || field === 'group') && typeof value === 'string') return rename(value);
  if (field === 'queues' && Array.isArray(value)) {
    return value.map((one) => (typeof one === 'string' ? rename(one) : renamed(one, rename)));
  }
  return renamed(value, rename);
}
