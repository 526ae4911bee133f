/** What the driver asks of the sidecar: the calls for people, their answers in the words of the proto. */
import type { Keyturn, LaneState } from '@keyturn/client';
import type { Fields } from '../fields.js';
import { isFields } from '../fields.js';

type Ask = (client: Keyturn, args: Fields) => Promise<unknown>;

const text = (args: Fields, name: string): string => String(args[name] ?? '');
const optional = (args: Fields, name: string): string | undefined =>
  args[name] === undefined ? undefined : text(args, name);
const choice = (args: Fields) => ({
  queue: text(args, 'queue'),
  key: optional(args, 'key'),
  itemIds: Array.isArray(args['item_ids']) ? args['item_ids'].map(String) : undefined,
});

const QUESTIONS: Readonly<Record<string, Ask>> = {
  explain_key: ({ admin }, args) => admin.explainKey(text(args, 'queue'), text(args, 'key')),
  list_queues: async ({ admin }) => ({ queues: (await admin.listQueues()).queues }),
  list_keys: ({ admin }, args) =>
    // The sidecar says which states there are.
    admin.listKeys({ queue: text(args, 'queue'), state: optional(args, 'state') as LaneState | undefined }),
  evict_holder: ({ admin }, args) => admin.evictHolder(text(args, 'queue'), text(args, 'key')),
  resume_key: ({ admin }, args) => admin.resumeKey(text(args, 'queue'), text(args, 'key')),
  pause_queue: ({ admin }, args) => admin.pauseQueue(text(args, 'queue')),
  resume_queue: ({ admin }, args) => admin.resumeQueue(text(args, 'queue')),
  set_limits: ({ admin }, args) => admin.setLimits(text(args, 'queue'), limits(args)),
  list_dead_letters: ({ admin }, args) =>
    admin.listDeadLetters({ queue: text(args, 'queue'), key: optional(args, 'key') }),
  get_leader: async ({ admin }, args) => (await admin.getLeader(text(args, 'group'))) ?? {},
  yield_leader: async ({ admin }, args) => (await admin.yieldLeader(text(args, 'group'))) ?? {},
  redrive: async ({ admin }, args) => ({ redriven: await admin.redrive(choice(args)) }),
  discard: async ({ admin }, args) => ({ discarded: await admin.discard(choice(args), args['waiting'] === true) }),
};

function limits(args: Fields) {
  const { rate, max_in_flight } = args;
  return {
    rate: isFields(rate) ? { perSecond: Number(rate['per_second']), burst: Number(rate['burst']) } : undefined,
    maxInFlight: max_in_flight === undefined ? undefined : Number(max_in_flight),
  };
}

/** @throws KeyturnError */
export async function ask(client: Keyturn, question: string, args: Fields): Promise<unknown> {
  const asked = QUESTIONS[question];
  if (asked === undefined) throw new Error(`there is no question ${question}`);
  return shown((await asked(client, args)) ?? {});
}

/** Names in snake_case, what is unset left out, maps as objects, bytes as text. */
function shown(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (value instanceof Map) return Object.fromEntries(value);
  if (Array.isArray(value)) return value.map(shown);
  if (value === Number.POSITIVE_INFINITY) return 'for ever';
  if (!isFields(value)) return value;
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  return Object.fromEntries(entries.map(([name, one]) => [snake(name), shown(one)]));
}

function snake(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
