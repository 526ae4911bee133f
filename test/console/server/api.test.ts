/** S470, S471: the calls of people over the Connect protocol are those of gRPC. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ADMIN_METHODS } from '../../../src/grpc/services/admin-service.js';
import { enQueueRequest } from '../../support/builders.js';
import { consoleOf, FROM_PAGE, jsonOf } from './console.js';

describe('a call by JSON', () => {
  it('is answered as over gRPC', async (t) => {
    const { call, coordinator } = await consoleOf(t);
    coordinator.enQueue(enQueueRequest({ queue: 'orders', key: 'k 💥', consumerId: 'w' }), {
      answer: () => true,
      refuse: (refusal) => assert.fail(refusal.kind),
    });
    const told = jsonOf(await call('AdminService/ExplainKey', { queue: 'orders', key: 'k 💥' }));
    assert.equal(told['state'], 'LANE_STATE_PROCESS');
    assert.match(JSON.stringify(told), /"consumerId":"w"/);
    const listed = jsonOf(await call('AdminService/ListQueues', {}));
    assert.match(JSON.stringify(listed), /"name":"orders"/);
  });

  it('is there for every call of people that has one answer', async (t) => {
    const { call } = await consoleOf(t);
    const names = [...ADMIN_METHODS.map(({ path }) => path), '/keyturn.v1.LeaderService/GetLeader'];
    assert.ok(names.length > 15);
    for (const name of names) {
      const { status, body } = await call(name.slice('/keyturn.v1.'.length), {}, FROM_PAGE);
      assert.ok(![404, 501].includes(status), `${name}: ${status} ${body}`);
    }
  });

  it('is refused with the code, the reason and the field', async (t) => {
    const { call } = await consoleOf(t);
    const refused = await call('AdminService/ListKeys', { queue: '', pageSize: 5_000 });
    assert.equal(refused.status, 400);
    const { code, message, details } = jsonOf(refused);
    assert.equal(code, 'invalid_argument');
    assert.match(String(message), /queue: an empty text.*\(and 1 more\)/);
    assert.match(JSON.stringify(details), /google\.rpc\.ErrorInfo.*google\.rpc\.BadRequest/);
    const none = await call('AdminService/ListDeadLetters', { queue: 'none' }, FROM_PAGE);
    assert.equal(none.status, 200, none.body);
  });

  const BAD: Readonly<Record<string, readonly [method: string, body: string, status: number, says: RegExp]>> = {
    'a field that is misspelt': ['AdminService/ListQueues', '{"nmae":"x"}', 400, /nmae/],
    'no JSON': ['AdminService/ListQueues', '{', 400, /decode|JSON/],
    'a wrong type': ['AdminService/ListQueues', '{"pageSize":"many"}', 400, /page_?size/i],
    'a call that is none': ['AdminService/Elephant', '{}', 404, /^/],
    'a service that is not for people': ['CoordinatorService/EnQueue', '{}', 404, /^/],
    'more than a person asks': [
      'AdminService/ListQueues',
      JSON.stringify({ nameContains: 'x'.repeat(2_000_000) }),
      429,
      /larger/,
    ],
  };
  for (const [what, [method, body, status, says]] of Object.entries(BAD))
    it(`is refused for ${what}`, async (t) => {
      const { call } = await consoleOf(t);
      const answer = await call(method, body, FROM_PAGE);
      assert.equal(answer.status, status, answer.body);
      assert.match(answer.body, says);
    });

  it('is refused in a few words, however long the name of a field is that nobody knows', async (t) => {
    const { call } = await consoleOf(t);
    const refused = await call('AdminService/ListQueues', JSON.stringify({ ['x'.repeat(900_000)]: 1 }), FROM_PAGE);
    assert.equal(refused.status, 400);
    assert.ok(refused.body.length < 1_000, `${refused.body.length} bytes`);
    assert.match(String(jsonOf(refused)['message']), /x{300}.*… \(\d+ characters\)$/);
  });

  it('is refused over gRPC and gRPC-web: they have their own port', async (t) => {
    const { ask } = await consoleOf(t);
    for (const type of ['application/grpc', 'application/grpc-web'])
      assert.equal(
        (await ask('/keyturn.v1.AdminService/ListQueues', { method: 'POST', headers: { 'content-type': type } }))
          .status,
        415,
        type,
      );
  });
});
