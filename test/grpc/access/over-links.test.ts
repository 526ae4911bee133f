/** Principals in a cluster: whoever they ask, gateway or home, ids are theirs, and reach the home whole. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { PermittedPort } from '../../../src/access/permitted-port.js';
import type { CandidateView, GroupView } from '../../../src/coordinator.js';
import { portOf } from '../../access/principals.js';
import { turnOf, Worker } from '../../contract/worker.js';
import { Call } from '../../support/call.js';
import { LinkedSession, LinkStage } from '../peer/link-stage.js';

const GROUP = 'backup';
/** As long as the default limit allows. */
const LONG = 'x'.repeat(256);
/** 255 bytes in 85 characters. */
const LONG_NAME = '語'.repeat(85);

class Cluster extends LinkStage {
  atGateway(name: string): PermittedPort {
    return portOf(this.remote, name);
  }

  atHome(name: string): PermittedPort {
    return portOf(this.home, name);
  }

  hello(port: PermittedPort, id: string): LinkedSession {
    const session = new LinkedSession(port, id, 10_000);
    this.settle();
    return session;
  }

  candidates(): number {
    const call = new Call<GroupView>();
    this.home.leaders.awaitLeader({ group: GROUP, knows: undefined }, call);
    return call.value.candidates;
  }

  stand(port: PermittedPort, candidateId: string, by: string): Call<CandidateView> {
    const call = new Call<CandidateView>();
    const terms = { ttl: 10_000, inaugurateTimeout: 10_000, handOverTimeout: 10_000, metadata: new Map() };
    const request = { ...terms, group: GROUP, candidateId, term: undefined, stamp: { at: 1, by }, knows: undefined };
    call.waits(port.leaders.stand(request, call));
    this.settle();
    return call;
  }
}

describe('over a link', () => {
  test('ids of the greatest length reach the home with the longest name before them', () => {
    const stage = new Cluster();
    const port = stage.atGateway(LONG_NAME);
    const session = stage.hello(port, LONG);
    assert.equal(session.hello.value.sessionId, LONG);
    const held = new Worker(port.calls).enQueue({ ticket: LONG });
    stage.settle();
    assert.ok(held.value.decision === 'accept', 'its turn is given');
    assert.equal(held.value.ticket, LONG);
    assert.deepEqual(stage.stand(port, LONG, 'a').value, { at: 'standing', position: 1 });
    assert.deepEqual(stage.linked.problems, []);
  });

  test('a session id of another principal is another session, whichever sidecar each asks', () => {
    const stage = new Cluster();
    const ada = stage.hello(stage.atGateway('ada'), 's');
    const turn = ada.worker.enQueue();
    stage.settle();
    for (const port of [stage.atHome('bob'), stage.atGateway('bob'), stage.atGateway('ad'), stage.atGateway('adas')]) {
      const other = stage.hello(port, 's');
      assert.equal(other.hello.value.turnCount, 0);
    }
    assert.ok(!ada.wasReplaced);
    const ended = ada.worker.end(turnOf(turn));
    stage.settle();
    assert.ok(ended.value);
  });

  test('the same principal comes back to its session at another sidecar, and takes its turns along', () => {
    const stage = new Cluster();
    const first = stage.hello(stage.atGateway('ada'), 's');
    const turn = first.worker.enQueue();
    stage.settle();
    const again = stage.hello(stage.atHome('ada'), 's');
    assert.deepEqual(
      again.hello.value.turns.map(({ token }) => token),
      [turnOf(turn).token],
    );
    assert.equal(again.hello.value.sessionId, 's');
    assert.ok(first.wasReplaced);
  });

  test('a ticket of another principal gives neither its turn nor its place, whichever sidecar each asks', () => {
    const stage = new Cluster();
    const ask = (port: PermittedPort, ticket: string) => {
      const call = new Worker(port.calls).enQueue({ ticket, wait: 0 });
      stage.settle();
      return call.value;
    };
    const mine = ask(stage.atGateway('ada'), 't');
    assert.equal(mine.decision, 'accept');
    for (const port of [stage.atHome('bob'), stage.atGateway('bob')])
      for (const ticket of ['t', 'ada\u001ft', '\u001ft', 'ada'])
        assert.notEqual(ask(port, ticket).decision, 'accept', `${ticket} gives nothing`);
    assert.deepEqual(ask(stage.atHome('ada'), 't'), mine);
  });

  test('a candidate id of another principal is another candidate: nobody is replaced, or withdrawn', () => {
    const stage = new Cluster();
    assert.deepEqual(stage.stand(stage.atGateway('ada'), 'c', 'a').value, { at: 'standing', position: 1 });
    assert.deepEqual(stage.stand(stage.atHome('bob'), 'c', 'b').value, { at: 'standing', position: 2 });
    const withdrawn = new Call<void>();
    // The stream of the other one, too.
    stage.atHome('bob').leaders.withdraw({ group: GROUP, candidateId: 'c', stamp: { at: 1, by: 'a' } }, withdrawn);
    stage.atHome('bob').leaders.withdraw({ group: GROUP, candidateId: 'c', stamp: { at: 1, by: 'b' } }, new Call());
    stage.settle();
    assert.equal(stage.candidates(), 1);
    // Its newest stream has it still; where it had been withdrawn on that stream, it would be told so.
    assert.deepEqual(stage.stand(stage.atGateway('ada'), 'c', 'a').value, { at: 'standing', position: 1 });
    assert.equal(stage.candidates(), 1);
  });
});
