/** The steps of a scenario: what each may be told, and which words may stand beside it. */
import { ERROR, EVENT, OPS } from './ops.js';
import {
  anything,
  count,
  duration,
  either,
  fields,
  flag,
  listOf,
  mapOf,
  pattern,
  type Shape,
  text,
  value,
  word,
} from './shapes.js';

export interface Verb {
  readonly body: Shape;
  /** Besides `within`, the bound of the step. */
  readonly words: Readonly<Record<string, Shape>>;
}

const ANSWERED = { error: ERROR, took: pattern(), since: text };

const t = value(text);

/** What the driver asks of the sidecar itself, by its own client; `proxy` tells how many connections there were and are,
 * and how many bytes clients have sent; `lives` what players have noted of the terms of a group. */
export const ASKED: Readonly<Record<string, Readonly<Record<string, Shape>>>> = {
  explain_key: { queue: t, key: t },
  list_queues: {},
  list_keys: { queue: t, state: t },
  evict_holder: { queue: t, key: t },
  resume_key: { queue: t, key: t },
  pause_queue: { queue: t },
  resume_queue: { queue: t },
  set_limits: { queue: t, rate: value(fields({ per_second: anything, burst: anything })), max_in_flight: value(count) },
  list_dead_letters: { queue: t, key: t },
  redrive: { queue: t, key: t, item_ids: value(listOf(t)) },
  discard: { queue: t, key: t, item_ids: value(listOf(t)), waiting: flag },
  proxy: {},
  get_leader: { group: t },
  yield_leader: { group: t },
  lives: { group: t, ledger: t, deaf: value(listOf(t)) },
};

const QUESTION: Shape = (given, path, tell) => {
  const allowed = Object.fromEntries(Object.keys(ASKED).map((name) => [name, fields(ASKED[name] ?? {})]));
  fields(allowed)(given, path, tell);
};

const OF_THE_STAGE: Readonly<Record<string, Verb>> = {
  answer: { body: text, words: { ...ANSWERED, expect: pattern() } },
  no_answer: { body: text, words: {} },
  event: { body: EVENT, words: { player: text, took: pattern(), since: text } },
  no_event: { body: EVENT, words: { player: text } },
  fault: {
    body: either(
      word('cut', 'heal', 'refuse', 'drop_answers', 'hold_answers', 'silence'),
      fields({ delay: duration }),
      fields({ cut_after: fields({ to_sidecar: count, to_client: count }) }),
    ),
    words: {},
  },
  sidecar: {
    body: either(
      word('kill', 'restart', 'drain', 'stop', 'continue'),
      fields({ restart: fields({ data: word('lost', 'kept') }) }),
    ),
    words: {},
  },
  sidecar_exits: { body: count, words: {} },
  kill_home: { body: fields({ group: text }, ['group']), words: {} },
  kill: { body: text, words: {} },
  pause: { body: text, words: {} },
  go_on: { body: text, words: {} },
  start: { body: text, words: {} },
  end: { body: text, words: {} },
  ask: { body: QUESTION, words: { expect: pattern(), error: ERROR } },
  until: { body: QUESTION, words: { expect: pattern() } },
  check: { body: anything, words: { expect: pattern() } },
  write: { body: fields({ file: text, text: t }, ['file', 'text']), words: {} },
  bind: { body: mapOf(anything), words: {} },
  mark: { body: text, words: {} },
  one_refuses: { body: (given, path, tell) => steps(given, path, tell), words: { error: ERROR } },
  repeat: {
    body: fields({ times: count, steps: (given, path, tell) => steps(given, path, tell) }, ['times', 'steps']),
    words: {},
  },
};

export const VERBS: Readonly<Record<string, Verb>> = {
  ...Object.fromEntries(
    Object.entries(OPS).map(([name, { args, ok }]) => [
      name,
      { body: args, words: { ...ANSWERED, expect: ok, as: text, player: text } },
    ]),
  ),
  ...OF_THE_STAGE,
};

/** @returns the one verb of a step; undefined when it has none, or several */
export function verbOf(step: object): string | undefined {
  const [verb, ...more] = Object.keys(step).filter((name) => Object.hasOwn(VERBS, name));
  return more.length === 0 ? verb : undefined;
}

const step: Shape = (given, path, tell) => {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    return tell(path, 'a step is a mapping: what is done, and what is expected');
  }
  const verb = verbOf(given);
  if (verb === undefined) {
    const names = Object.keys(given).join(', ');
    return tell(path, `${names}: a step does one thing; it may be one of ${Object.keys(VERBS).join(', ')}`);
  }
  const { body, words } = VERBS[verb] ?? { body: anything, words: {} };
  fields({ [verb]: body, ...words, within: duration }, [verb])(given, path, tell);
  if ('expect' in given && 'error' in given) tell(path, 'an answer is either what is expected or an error');
};

export const steps: Shape = listOf(step);
