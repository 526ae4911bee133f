/** How long a sidecar looks whether its address is its own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { OwnAddress } from '../../../../src/cli/serve/cluster/own-address.js';
import type { AnsweredAt } from '../../../../src/grpc/peer/own-address.js';
import { FakeClock } from '../../../support/fake-clock.js';

const UNKNOWN: AnsweredAt = { is: 'unknown', why: 'nothing came' };
const ANOTHER: AnsweredAt = { is: 'another', why: 'it is b' };

class Stage {
  readonly clock = new FakeClock();
  readonly lines: object[] = [];
  asked = 0;
  answer: AnsweredAt = UNKNOWN;
  incarnation = 'a';
  readonly address = new OwnAddress({
    address: 'h:1',
    clock: this.clock,
    log: { warn: (fields: object) => void this.lines.push(fields) },
    incarnation: () => this.incarnation,
    ask: async () => {
      this.asked += 1;
      return this.answer;
    },
  });

  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 1_000) {
      await setImmediate();
      this.clock.advance(1_000);
      await setImmediate();
    }
  }
}

test('S611: an address that answers as this sidecar is asked once', async () => {
  const stage = new Stage();
  stage.answer = { is: 'own' };
  await stage.address.begin();
  await stage.address.prove(() => false);
  assert.equal(stage.asked, 1);
});

test('S611: an address that leads nowhere is asked each second until another sidecar answers', async () => {
  const stage = new Stage();
  await stage.address.begin();
  const proved = assert.rejects(
    stage.address.prove(() => false),
    { name: 'CommandFailure', exitCode: 1 },
  );
  await stage.pass(20_000);
  assert.equal(stage.asked, 22);
  stage.answer = ANOTHER;
  await stage.pass(1_000);
  await proved;
});

test('S611: after 60 s without an answer the sidecar goes on, and its log says so', async () => {
  const stage = new Stage();
  const proved = stage.address.prove(() => false);
  await stage.pass(61_000);
  await proved;
  assert.deepEqual(stage.lines, [{ peer: 'h:1', reason: 'nothing came' }]);
});

test('S611: a sidecar that joins again while it asks takes itself for no other one', async () => {
  const stage = new Stage();
  const ask = stage.address.begin();
  stage.incarnation = 'a again';
  stage.answer = ANOTHER;
  await ask;
});

test('S611: a sidecar that ends asks no more', async () => {
  const stage = new Stage();
  await stage.address.prove(() => true);
  assert.equal(stage.asked, 0);
});
