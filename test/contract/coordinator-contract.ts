/** The contract in cases, over the port alone: whatever implements it has to pass them all. */
import { describe } from 'node:test';
import { QUEUE } from '../support/builders.js';
import { administration } from './administration.js';
import { dependencies } from './dependencies.js';
import { items } from './items.js';
import { type Keeps, limits } from './limits.js';
import { notices } from './notices.js';
import { onStreams, onTiedStreams } from './over-sessions.js';
import { policies } from './policy.js';
import { restarts } from './restart.js';
import { retryNow } from './retry-now.js';
import { sessions } from './sessions.js';
import { type MakeCoordinator, type SetStage, Stage } from './stage.js';
import { tickets } from './tickets.js';
import { turns } from './turns.js';
import { workers } from './workers.js';
import type { World } from './world.js';

/** By which ways the calls of workers come: unary, on a stream, on a stream that said hello. */
export type Ways = 'every way' | 'unary calls and tied streams' | 'unary calls';

/**
 * @param make gets a clock that stands still until a case moves it
 * @param keeps where what items carry is when their call was answered
 * @param world what stands behind the port: not everything is promised of a cluster
 * @param ways one is enough where the subject does not know by which way a call came
 */
export function describeCoordinator(
  name: string,
  make: MakeCoordinator,
  keeps: Keeps = 'in memory',
  world: World = 'alone',
  ways: Ways = 'every way',
): void {
  describeCalls(name, make, keeps, world);
  if (ways === 'every way') describeCalls(`${name}, every call on a stream,`, onStreams(make), keeps, world);
  if (ways !== 'unary calls')
    describeCalls(`${name}, every call on a stream that said hello,`, onTiedStreams(make), keeps, world);
  const set = stageSetter(make);
  describe(`${name} keeps the contract of sessions`, () => {
    sessions(set, world);
    notices(set);
  });
}

function describeCalls(name: string, make: MakeCoordinator, keeps: Keeps, world: World): void {
  const set = stageSetter(make);
  describe(`${name} keeps the contract`, () => {
    turns(set);
    tickets(set);
    policies(set, world);
    items(set, world);
    dependencies(set, world);
    workers(set, world);
    administration(set);
    retryNow(set);
    limits(set, keeps, world);
    restarts(make);
  });
}

/** A small memory of idle lanes is quicker to set up; cases about it say their own. */
function stageSetter(make: MakeCoordinator): SetStage {
  return (policy = {}, change = {}, clock) =>
    new Stage(make, { queues: { [QUEUE]: policy }, ...change, limits: { idleLanes: 1_000, ...change.limits } }, clock);
}
