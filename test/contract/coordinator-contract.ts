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

/**
 * @param make gets a clock that stands still until a case moves it
 * @param keeps where what items carry is when their call was answered
 */
export function describeCoordinator(name: string, make: MakeCoordinator, keeps: Keeps = 'in memory'): void {
  describeCalls(name, make, keeps);
  describeCalls(`${name}, every call on a stream,`, onStreams(make), keeps);
  describeCalls(`${name}, every call on a stream that said hello,`, onTiedStreams(make), keeps);
  const set = stageSetter(make);
  describe(`${name} keeps the contract of sessions`, () => {
    sessions(set);
    notices(set);
  });
}

function describeCalls(name: string, make: MakeCoordinator, keeps: Keeps): void {
  const set = stageSetter(make);
  describe(`${name} keeps the contract`, () => {
    turns(set);
    tickets(set);
    policies(set);
    items(set);
    dependencies(set);
    workers(set);
    administration(set);
    retryNow(set);
    limits(set, keeps);
    restarts(make);
  });
}

/** A small memory of idle lanes is quicker to set up; cases about it say their own. */
function stageSetter(make: MakeCoordinator): SetStage {
  return (policy = {}, change = {}, clock) =>
    new Stage(make, { queues: { [QUEUE]: policy }, ...change, limits: { idleLanes: 1_000, ...change.limits } }, clock);
}
