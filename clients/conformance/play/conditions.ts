/** What the sidecar is asked, once or until it is so. */
import { setTimeout as pause } from 'node:timers/promises';
import { KeyturnError } from '@keyturn/client';
import { type Fields, fieldsOf, messageOf } from '../fields.js';
import { filled } from '../match/bindings.js';
import { match, shown } from '../match/match.js';
import type { Answer } from '../process/player-process.js';
import type { Step } from '../scenario/model.js';
import { TooLate, within } from './bounds.js';
import { bindAll, checkAnswer } from './expectations.js';
import { proxyOf } from './faults.js';
import { livesIn } from './lives.js';
import { ask } from './questions.js';
import type { Stage } from './stage.js';

function questionOf(stage: Stage, body: unknown): readonly [string, Fields] {
  const [question, args] = Object.entries(fieldsOf(body))[0] ?? ['', {}];
  return [question, fieldsOf(filled(args ?? {}, stage.bindings))];
}

async function told(stage: Stage, question: string, args: Fields): Promise<unknown> {
  if (question === 'proxy') {
    const { accepted, open, toSidecar } = proxyOf(stage);
    return { accepted, open, to_sidecar: toSidecar };
  }
  const { queues } = stage;
  if (question === 'lives') return livesIn(fieldsOf(queues.out(args)));
  const answer = queues.in(await ask(stage.sidecar.client, question, fieldsOf(queues.out(args))));
  return question === 'list_queues' ? { queues: queues.own(fieldsOf(answer)['queues']) } : answer;
}

export async function asked(stage: Stage, step: Step, bound: number): Promise<void> {
  const [question, args] = questionOf(stage, step.body);
  const at = performance.now();
  const answer = await within(bound, question, told(stage, question, args)).then(
    (ok): Answer => ({ ok: fieldsOf(ok), at }),
    (error: unknown): Answer => {
      if (error instanceof TooLate) throw error;
      return { error: { message: messageOf(error), ...errorFields(error) }, at };
    },
  );
  checkAnswer(stage, step, answer);
}

function errorFields(error: unknown): Fields {
  if (!(error instanceof Error) || !('code' in error)) return {};
  return { code: error.code, ...('reason' in error ? { reason: error.reason } : {}) };
}

const BETWEEN_MS = 10;
/** A question is answered to its end, so that what is there instead can be told. */
const QUESTION_MS = 5_000;

/** Asks the sidecar again and again: for what it does by itself and tells nobody. */
export async function until(stage: Stage, step: Step, bound: number): Promise<void> {
  const [question, args] = questionOf(stage, step.body);
  const end = performance.now() + bound;
  for (;;) {
    const answer = await within(
      Math.max(QUESTION_MS, end - performance.now()),
      question,
      told(stage, question, args),
    ).catch(unready);
    const result = match(step.words['expect'] ?? {}, answer, stage.bindings);
    if ('bound' in result && !(answer instanceof KeyturnError)) return bindAll(stage, result.bound);
    if (performance.now() >= end) {
      const why = 'wrong' in result ? result.wrong : 'the sidecar does not answer';
      throw new TooLate(`not within ${Math.round(bound)} ms: ${why}\n  in ${shown(answer)}`);
    }
    await pause(BETWEEN_MS);
  }
}

/** A sidecar that begins anew refuses questions until it has read its data. */
function unready(error: unknown): KeyturnError {
  if (error instanceof KeyturnError) return error;
  throw error;
}
