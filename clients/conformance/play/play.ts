/** Plays one scenario with the players of one language. */
import { messageOf } from '../fields.js';
import { shown } from '../match/match.js';
import type { Scenario, Step } from '../scenario/model.js';
import { SCENARIO_MS } from './bounds.js';
import type { PlayerPool } from './player-pool.js';
import { type Around, Stage } from './stage.js';
import { perform } from './steps.js';

export interface Verdict {
  readonly scenario: Scenario;
  readonly language: string;
  readonly ms: number;
  /** What went wrong; unset: it passed. */
  readonly failure?: string;
  /** The last lines of the processes that took part in a failure. */
  readonly logs?: string;
}

export async function play(scenario: Scenario, pool: PlayerPool, around: Around = {}): Promise<Verdict> {
  const began = performance.now();
  const { failure, logs } = await attempt(scenario, pool, around, began + SCENARIO_MS).catch((error: unknown) => ({
    failure: messageOf(error),
    logs: '',
  }));
  const ms = Math.round(performance.now() - began);
  const common = { scenario, language: pool.language, ms };
  return failure === undefined ? common : { ...common, failure, logs };
}

interface Moment {
  readonly at: number;
  readonly what: string;
}

interface Outcome {
  readonly failure: string | undefined;
  readonly logs: string;
}

async function attempt(scenario: Scenario, pool: PlayerPool, around: Around, end: number): Promise<Outcome> {
  const stage = await Stage.set(scenario, pool, around);
  const begun: Moment[] = [];
  const failure = await steps(stage, scenario, end, begun);
  const logs = failure === undefined ? '' : logsOf(stage, around, begun);
  const atTheEnd = await stage.leave(failure === undefined);
  return { failure: failure ?? (atTheEnd === undefined ? undefined : `at the end: ${atTheEnd}`), logs };
}

/** @returns what went wrong. @param begun gets the steps, as they begin */
async function steps(stage: Stage, scenario: Scenario, end: number, begun: Moment[]): Promise<string | undefined> {
  try {
    await stage.begin();
  } catch (error) {
    return messageOf(error);
  }
  for (const [at, step] of scenario.steps.entries()) {
    begun.push({ at: performance.now(), what: placeOf(scenario, step, at) });
    try {
      await perform(stage, step, end - performance.now());
    } catch (error) {
      return `${placeOf(scenario, step, at)}: ${messageOf(error)}`;
    }
  }
  return undefined;
}

function placeOf({ file }: Scenario, { verb, line }: Step, at: number): string {
  return `${file}.yaml:${line}: step ${at + 1}, ${verb}`;
}

function logsOf(stage: Stage, { behind }: Around, begun: readonly Moment[]): string {
  const players = [...stage.members].map(([name, { process }]) => `player ${name}:\n${process.log}`);
  const homes = behind === undefined ? [] : [`behind it:\n${behind.log}`];
  return [`what happened:\n${story(stage, begun)}`, `sidecar:\n${stage.sidecar.log}`, ...homes, ...players].join('\n');
}

/** Steps and events in the order of their times, which are those of the logs. */
function story(stage: Stage, begun: readonly Moment[]): string {
  const told = [...stage.members].flatMap(([name, { events }]) =>
    events.last.map(({ event, at }) => ({ at, what: `  ${name} told ${shown(event)}` })),
  );
  const moments = [...begun, ...told].sort((one, other) => one.at - other.at);
  return moments.map(({ at, what }) => `${new Date(performance.timeOrigin + at).toISOString()} ${what}`).join('\n');
}
