/** What each setting can lose of what was answered: the table of docs/ENGINES.md. */

/**
 * `nothing`; `restored`: the cluster stops, and nothing is lost once a person has said `keyturn cluster restore all`; `last`: what was
 * written last; `everything`.
 */
export type Loss = 'nothing' | 'restored' | 'last' | 'everything';

/** What a cell says of a loss; `last` is said in the words of its row. */
export const WORDS: Readonly<Record<Exclude<Loss, 'last'>, string>> = {
  nothing: 'nothing',
  restored: 'nothing, after `cluster restore`',
  everything: '**everything**',
};

/** `back`: its process is killed, or its power fails, and it comes back; `gone`: its machine never does. */
export type Event = 'back' | 'gone';

/** While the home lives; when it dies, too. */
export interface Losses {
  readonly home: Loss;
  readonly homeGone: Loss;
}

const NOTHING: Losses = { home: 'nothing', homeGone: 'nothing' };
/** The home has it all in memory, and writes back what is missing. */
const LAST: Losses = { home: 'nothing', homeGone: 'last' };
/** An empty server stands where it stood. */
const EMPTY: Losses = { home: 'restored', homeGone: 'everything' };

export interface Row {
  /** As the page says it. */
  readonly setting: string;
  /** As the page says `last`. */
  readonly last: string;
  readonly losses: Readonly<Record<Event, Losses>>;
}

export const ROWS = {
  always: {
    setting: 'Redis or Valkey alone, `appendfsync always`',
    last: '',
    losses: { back: NOTHING, gone: EMPTY },
  },
  everysec: {
    setting: 'the same, `appendfsync everysec`',
    last: '',
    losses: { back: NOTHING, gone: EMPTY },
  },
  power: {
    setting: 'the same, and its power fails',
    last: 'the last second or two',
    losses: { back: LAST, gone: EMPTY },
  },
  snapshots: {
    setting: 'the same, snapshots only (`save`)',
    last: 'all since the last snapshot',
    losses: { back: LAST, gone: EMPTY },
  },
  memory: {
    setting: 'the same, `appendonly no`, `save ""`',
    last: '',
    losses: { back: EMPTY, gone: EMPTY },
  },
  waited: {
    setting: 'Redis or Valkey with replicas, `replicas` is their number',
    last: '',
    losses: { back: NOTHING, gone: NOTHING },
  },
  unwaited: {
    setting: 'the same, `replicas: 0`',
    last: 'what the replica had not received',
    losses: { back: NOTHING, gone: LAST },
  },
  sentinels: {
    setting: 'sentinels, `replicas` 1 or more (`auto` with 2 replicas is 1)',
    last: '',
    losses: { back: NOTHING, gone: NOTHING },
  },
  sentinelsUnwaited: {
    setting: 'the same, `replicas: 0` (`auto` with 1 replica)',
    last: 'what the replica had not received',
    losses: { back: LAST, gone: LAST },
  },
  redisCluster: {
    setting: 'Redis Cluster, `replicas` 1 or more (`auto` with 2 replicas of each master is 1)',
    last: '',
    losses: { back: NOTHING, gone: NOTHING },
  },
  redisClusterUnwaited: {
    setting: 'the same, `replicas: 0` (`auto` with 1 replica of each)',
    last: 'what the replica had not received',
    losses: { back: LAST, gone: LAST },
  },
  postgres: {
    setting: 'PostgreSQL alone',
    last: '',
    losses: { back: NOTHING, gone: EMPTY },
  },
  asynchronous: {
    setting: 'with a standby that no commit waits for',
    last: 'what the standby had not received',
    losses: { back: NOTHING, gone: LAST },
  },
  notAsked: {
    setting: "the same, `synchronous_standby_names = 'ANY 1 (…)'`, but `replicas: 0`",
    last: 'what the standby had not received',
    losses: { back: NOTHING, gone: LAST },
  },
  synchronous: {
    setting: "the same, `synchronous_standby_names = 'ANY 1 (…)'`",
    last: '',
    losses: { back: NOTHING, gone: NOTHING },
  },
} as const satisfies Readonly<Record<string, Row>>;

export type Setting = keyof typeof ROWS;
