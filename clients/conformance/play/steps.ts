/** What each step does. A step that does not come to what is expected throws a Mismatch; nothing sleeps. */
import { type Fields, fieldsOf } from '../fields.js';
import { filled } from '../match/bindings.js';
import { shown } from '../match/match.js';
import type { Step } from '../scenario/model.js';
import { OF_A_HANDLE, OPS } from '../scenario/ops.js';
import { boundOf, within } from './bounds.js';
import { asked, until } from './conditions.js';
import { bindAll, checkAnswer, checkTook, compare, Mismatch, originOf } from './expectations.js';
import { fault, killHome, sidecar } from './faults.js';
import type { Member } from './member.js';
import type { Call, Stage } from './stage.js';

type Perform = (stage: Stage, step: Step, bound: number) => Promise<void> | void;

/** @param left ms that the scenario has; no step takes longer */
export async function perform(stage: Stage, step: Step, left: number): Promise<void> {
  const bound = Math.min(boundOf(step.words['within']), left);
  const act = Object.hasOwn(OPS, step.verb) ? request : ACTS[step.verb];
  if (act === undefined) throw new Error(`there is no step ${step.verb}`);
  await act(stage, step, bound);
}

const ACTS: Readonly<Record<string, Perform>> = {
  answer: (stage, step, bound) => answered(stage, step, callNamed(stage, String(step.body)), bound),
  no_answer: async (stage, { body }) => {
    const open = Symbol('open');
    const answer = await Promise.race([callNamed(stage, String(body)).asked.answer, open]);
    if (typeof answer !== 'symbol') throw new Mismatch(`no answer was expected yet: ${shown(answer)}`);
  },
  event: async (stage, step, bound) => {
    const since = originOf(stage, step, performance.now());
    const { events } = stage.member(playerOf(step));
    const happened = await events.take(fieldsOf(step.body), stage.bindings, bound);
    bindAll(stage, happened.bound);
    checkTook(stage, step, happened.at - since);
  },
  no_event: (stage, step) => {
    const found = stage.member(playerOf(step)).events.find(fieldsOf(step.body), stage.bindings);
    if (found !== undefined) throw new Mismatch(`this event was not expected: ${shown(found.event)}`);
  },
  fault: (stage, { body }) => fault(stage, body),
  sidecar: (stage, { body }, bound) => within(bound, `sidecar: ${shown(body)}`, sidecar(stage, body)),
  sidecar_exits: async (stage, { body }, bound) => {
    const code = await within(bound, 'the sidecar exits', stage.sidecar.exited);
    if (code !== body) throw new Mismatch(`the sidecar exited with code ${code}, not ${shown(body)}`);
  },
  kill_home: (stage, { body }, bound) => within(bound, 'a home is killed', killHome(stage, fieldsOf(body))),
  kill: async (stage, { body }, bound) => {
    const member = stage.member(String(body));
    member.process.kill();
    await within(bound, 'the player is gone', member.process.exited);
  },
  pause: (stage, { body }) => stage.member(String(body)).process.signal('SIGSTOP'),
  go_on: (stage, { body }) => stage.member(String(body)).process.signal('SIGCONT'),
  start: async (stage, { body }) => void (await stage.enter(String(body))),
  end: async (stage, { body }, bound) => {
    const { process } = stage.member(String(body));
    process.end();
    const code = await within(bound, 'the player ends with its stdin', process.exited);
    if (code !== 0) throw new Mismatch(`the player ended with exit code ${code}, not 0`);
  },
  ask: (stage, step, bound) => asked(stage, step, bound),
  until: (stage, step, bound) => until(stage, step, bound),
  check: (stage, { body, words }) => compare(stage, words['expect'], filled(body, stage.bindings)),
  write: (stage, { body }) => {
    const { file, text } = fieldsOf(filled(body, stage.bindings));
    return stage.write(String(file), String(text));
  },
  bind: (stage, { body }) => {
    for (const [name, value] of Object.entries(fieldsOf(body))) stage.bindings.set(name, filled(value, stage.bindings));
  },
  mark: (stage, { body }) => void stage.marks.set(String(body), performance.now()),
  one_refuses: async (stage, { body, words }, bound) => {
    const until = performance.now() + bound;
    for (const step of Array.isArray(body) ? body : []) {
      const args = fieldsOf(filled(step.body, stage.bindings));
      const call = send(stage, step.verb, args, playerOf(step));
      const answer = await within(until - performance.now(), `an answer to ${call.op}`, call.asked.answer);
      if ('error' in answer) return checkAnswer(stage, { ...step, words }, answer);
    }
    throw new Mismatch(`none of these was refused, which was expected (${shown(words['error'])})`);
  },
  repeat: async (stage, { body }, bound) => {
    const { times, steps } = fieldsOf(body);
    const until = performance.now() + Math.max(bound, 1);
    for (let n = 1; n <= Number(times); n += 1) {
      stage.bindings.set('n', n);
      for (const step of Array.isArray(steps) ? steps : []) await perform(stage, step, until - performance.now());
    }
  },
};

/** Sends it; awaits the answer unless it is given a name. */
async function request(stage: Stage, step: Step, bound: number): Promise<void> {
  const { verb, words } = step;
  const args = fieldsOf(filled(step.body, stage.bindings));
  const since = performance.now();
  const call = send(stage, verb, args, playerOf(step));
  if (words['as'] !== undefined) {
    stage.calls.set(nameOf(stage, words['as']), call);
    return;
  }
  await answered(stage, step, { ...call, since }, bound);
}

function send(stage: Stage, op: string, args: Fields, player: string | undefined): Call {
  const since = performance.now();
  if (op === 'open') {
    const member = stage.member(player);
    return { op, member, asked: stage.open(member, args), since };
  }
  const { member, named } = addressed(stage, op, args, player);
  if (typeof named['handle'] === 'string') stage.lives(named['handle'], member);
  const call = op === 'cancel' ? { call: callNamed(stage, String(args['call'])).asked.id } : {};
  const asked = member.request(op, { ...named, ...call });
  if (op === 'close') stage.closing(member, String(named['client']), asked);
  return { op, member, asked, since };
}

/** Whom it goes to: the player of its handle, of its client (`a` if it names none), or the one that the step names. */
function addressed(
  stage: Stage,
  op: string,
  args: Fields,
  player: string | undefined,
): { readonly member: Member; readonly named: Fields } {
  if (OF_A_HANDLE.has(op)) return { member: stage.homeOf(String(args['handle'])), named: args };
  if (op === 'hello' || op === 'leftovers') return { member: stage.member(player), named: args };
  const client = typeof args['client'] === 'string' ? args['client'] : 'a';
  return { member: stage.homeOf(client), named: { ...args, client } };
}

async function answered(stage: Stage, step: Step, call: Call, bound: number): Promise<void> {
  const since = originOf(stage, step, call.since);
  const answer = await within(bound, `an answer to ${call.op}`, call.asked.answer);
  checkAnswer(stage, step, answer);
  checkTook(stage, step, answer.at - since);
}

function callNamed(stage: Stage, name: string): Call {
  const full = nameOf(stage, name);
  const call = stage.calls.get(full);
  if (call !== undefined) return call;
  throw new Error(`no request is called ${full}; there are ${[...stage.calls.keys()].join(', ')}`);
}

/** Names may have the number of a repetition in them. */
function nameOf(stage: Stage, name: unknown): string {
  return String(filled(name, stage.bindings));
}

function playerOf({ words }: Step): string | undefined {
  return words['player'] === undefined ? undefined : String(words['player']);
}
