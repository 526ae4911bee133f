/** S468, S469: who one is at the console, for how long, and that nothing is asked by the sidecar's own right. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { Grants } from '../../../src/access/grants.js';
import type { Principal } from '../../../src/access/principal.js';
import { hashOf } from '../../../src/access/tokens.js';
import { Logins } from '../../../src/console/logins.js';
import { consoleOf, FROM_PAGE, headOf, jsonOf, loggedIn, rawConnection } from './console.js';

describe('a login', () => {
  it('gives the browser a name of its own, which no script reads and no other page sends', async (t) => {
    const view = await consoleOf(t, { auth: true });
    const body = JSON.stringify({ token: 'secret-ada' });
    const { headers } = await view.ask('/login', { method: 'POST', headers: FROM_PAGE, body });
    const [cookie = ''] = headers['set-cookie'] ?? [];
    assert.match(cookie, new RegExp(`^keyturn_console_${view.port}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict$`));
    assert.doesNotMatch(cookie, /secret/);
  });

  it('may ask what its principal may, and nothing else', async (t) => {
    const view = await consoleOf(t, { auth: true });
    const cookie = { cookie: await loggedIn(view, 'secret-ada'), ...FROM_PAGE };
    assert.deepEqual(jsonOf(await view.ask('/session', { headers: cookie })), {
      auth: true,
      principal: 'ada',
      version: '1.2.3',
    });
    assert.equal((await view.call('AdminService/PauseQueue', { queue: 'ada.q' }, cookie)).status, 200);
    const refused = await view.call('AdminService/PauseQueue', { queue: 'orders' }, cookie);
    assert.equal(refused.status, 403);
    assert.match(refused.body, /ada.* may not operate on .*queue orders/);
    assert.deepEqual(
      view.audit.map(({ who, over, call, outcome }) => [who, over, call, outcome]),
      [
        ['ada', 'console', 'AdminService/PauseQueue', 'OK'],
        ['ada', 'console', 'AdminService/PauseQueue', 'PERMISSION_DENIED'],
      ],
    );
  });

  it('is wanted for every call where people are asked who they are', async (t) => {
    const { call, ask, refusals } = await consoleOf(t, { auth: true });
    for (const method of [
      'AdminService/ListQueues',
      'AdminService/WatchEvents',
      'LeaderService/GetLeader',
      'AdminService/Nonsense',
    ]) {
      const { status, body } = await call(method, {}, FROM_PAGE);
      assert.equal(status, 401, method);
      assert.match(body, /unauthenticated/);
    }
    assert.deepEqual(jsonOf(await ask('/session')), { auth: true, principal: null, version: '1.2.3' });
    // A page that nobody has logged in to tries nothing.
    assert.deepEqual(refusals, []);
  });

  it('is refused for a token that is not known, ten times a minute, and told to the audit', async (t) => {
    const { ask, refusals } = await consoleOf(t, { auth: true });
    const attempt = async () => {
      const body = JSON.stringify({ token: 'guess' });
      return (await ask('/login', { method: 'POST', headers: FROM_PAGE, body })).status;
    };
    for (let tried = 0; tried < 10; tried += 1) assert.equal(await attempt(), 401);
    assert.equal(await attempt(), 429);
    assert.equal(refusals.length, 10);
    // Whoever has a token is not locked out by who has none.
    const right = await ask('/login', { method: 'POST', headers: FROM_PAGE, body: '{"token":"secret-ops"}' });
    assert.equal(right.status, 200);
    assert.match(refusals[0] ?? '', /^127\.0\.0\.1 \/login this token is not known/);
  });

  it('is refused ten times a minute also for those that are tried at once', async (t) => {
    const { ask, port, refusals } = await consoleOf(t, { auth: true });
    const body = '{"token":"guess"}';
    const open = () => rawConnection(t, port);
    const tries = await Promise.all(Array.from({ length: 30 }, open));
    for (const { socket, read } of tries) {
      read();
      socket.write(headOf('/login', body.length, { connection: 'close' }));
    }
    // They were all let in before the first of them fails.
    await ask('/session');
    for (const { socket } of tries) socket.write(body);
    await Promise.all(tries.map(({ socket }) => once(socket, 'close')));
    const statuses = tries.map(({ text }) => text().slice(9, 12));
    assert.deepEqual(
      ['401', '429'].map((status) => statuses.filter((one) => one === status).length),
      [10, 20],
    );
    assert.equal(refusals.length, 10);
  });

  it('is tried by no other path without a word in the audit', async (t) => {
    const { ask, refusals } = await consoleOf(t, { auth: true });
    await ask('/session', { headers: { authorization: 'Bearer guess' } });
    assert.match(refusals.join(), /^127\.0\.0\.1 \/session this token is not known/);
    await ask(`/keyturn.v1.${'x'.repeat(10_000)}`, { method: 'POST', headers: { authorization: 'Bearer guess' } });
    assert.match(refusals[1] ?? '', /this token is not known/);
    assert.ok((refusals[1] ?? '').length < 500, 'a stranger fills no disk');
  });

  it('is no failure of the sidecar when its connection breaks', async (t) => {
    let failures = 0;
    const failed = () => {
      failures += 1;
    };
    const log = { info() {}, warn() {}, error() {} };
    const { ask, port } = await consoleOf(t, { auth: true, log, failed });
    for (let tried = 0; tried < 5; tried += 1) {
      const { socket } = await rawConnection(t, port);
      socket.write(`${headOf('/login', 100)}{"tok`);
      await ask('/session');
      socket.destroy();
      await ask('/session');
    }
    assert.equal(failures, 0);
  });

  it('is refused for what is no token, and from other pages', async (t) => {
    const { ask } = await consoleOf(t, { auth: true });
    const post = (body: string, headers: Readonly<Record<string, string>> = FROM_PAGE) =>
      ask('/login', { method: 'POST', headers, body }).then(({ status }) => status);
    for (const body of ['', '{', '[]', 'null', '{"token":7}', JSON.stringify({ token: 'x'.repeat(20_000) })])
      assert.equal(await post(body), 400, body.slice(0, 20));
    assert.equal(await post(JSON.stringify({ token: 'secret-ada' }), {}), 403);
    assert.equal(await post(JSON.stringify({ token: 'secret-ada' }), { 'sec-fetch-site': 'cross-site' }), 403);
    assert.equal((await ask('/login')).status, 405);
  });

  it('is not there where nobody is asked', async (t) => {
    const { ask } = await consoleOf(t);
    const answer = await ask('/login', { method: 'POST', headers: FROM_PAGE, body: '{"token":"x"}' });
    assert.equal(answer.status, 409);
  });

  it('ends by logging out, and with the token for which it was given', async (t) => {
    const view = await consoleOf(t, { auth: true });
    const may = async (cookie: string) =>
      (await view.call('AdminService/ListQueues', {}, { cookie, ...FROM_PAGE })).status === 200;
    const [one, other] = [await loggedIn(view, 'secret-ada'), await loggedIn(view, 'secret-ops')];
    await view.ask('/logout', { method: 'POST', headers: { cookie: one, ...FROM_PAGE } });
    assert.deepEqual([await may(one), await may(other)], [false, true]);
    view.keep('ada');
    assert.deepEqual([await may(one), await may(other)], [false, false]);
  });

  it('does nothing that was begun before it ended, and asked for after', async (t) => {
    const view = await consoleOf(t, { auth: true });
    const { ask, port, audit, coordinator } = view;
    const cookie = await loggedIn(view, 'secret-ops');
    await view.call('AdminService/ListQueues', {}, { cookie, ...FROM_PAGE });
    const body = '{"queue":"orders"}';
    const type = { 'content-type': 'application/json', connection: 'close' };
    const { socket, read, text } = await rawConnection(t, port);
    read();
    socket.write(headOf('/keyturn.v1.AdminService/PauseQueue', body.length, { ...type, cookie }));
    await ask('/logout', { method: 'POST', headers: { cookie, ...FROM_PAGE } });
    socket.write(body);
    await once(socket, 'close');
    assert.match(text(), /^HTTP\/1\.1 401 /);
    assert.deepEqual(coordinator.stats().queues, []);
    assert.deepEqual(
      audit.map(({ who, call, outcome }) => [who, call, outcome]),
      [['ops', 'AdminService/PauseQueue', 'UNAUTHENTICATED']],
    );
  });

  it('is given a new name each time: one that somebody planted is worth nothing', async (t) => {
    const view = await consoleOf(t, { auth: true });
    const planted = `keyturn_console_${view.port}=planted`;
    const body = JSON.stringify({ token: 'secret-ada' });
    const { headers } = await view.ask('/login', { method: 'POST', headers: { ...FROM_PAGE, cookie: planted }, body });
    assert.ok(!headers['set-cookie']?.[0]?.startsWith(planted));
    assert.equal((await view.call('AdminService/ListQueues', {}, { cookie: planted, ...FROM_PAGE })).status, 401);
  });

  it('is none when there are two: somebody at another port of this host may have added theirs', async (t) => {
    const view = await consoleOf(t, { auth: true });
    const [ada, ops] = [await loggedIn(view, 'secret-ada'), await loggedIn(view, 'secret-ops')];
    for (const cookie of [`${ada}; ${ops}`, `${ops}; ${ada}`])
      assert.equal(
        (await view.call('AdminService/PauseQueue', { queue: 'ada.q' }, { cookie, ...FROM_PAGE })).status,
        401,
      );
    assert.deepEqual(view.audit, []);
    await view.ask('/logout', { method: 'POST', headers: { cookie: `${ada}; ${ops}`, ...FROM_PAGE } });
    for (const cookie of [ada, ops])
      assert.equal((await view.call('AdminService/ListQueues', {}, { cookie, ...FROM_PAGE })).status, 401);
  });

  it('does not stand in for a token that does not hold', async (t) => {
    const view = await consoleOf(t, { auth: true });
    const cookie = await loggedIn(view, 'secret-ada');
    const headers = { cookie, authorization: 'Bearer wrong', ...FROM_PAGE };
    assert.equal((await view.call('AdminService/ListQueues', {}, headers)).status, 401);
    assert.equal(view.refusals.length, 1);
  });
});

describe('how long a login lasts', () => {
  const HOUR = 3_600_000;
  const proof = { by: 'token', sha256: hashOf('x') } as const;
  const principal: Principal = { name: 'ada', grants: new Grants([]), allowance: undefined, proof };

  function logins() {
    const at = { now: 0, holds: true };
    const made = new Logins(
      () => at.holds,
      () => at.now,
    );
    return { at, made };
  }

  it('is an hour without use, and twelve in all', () => {
    const { at, made } = logins();
    const id = made.open(principal);
    for (let hours = 0; hours < 12; hours += 0.99) {
      at.now = hours * HOUR;
      assert.ok(made.use(id), `${hours}`);
    }
    at.now = 12 * HOUR;
    assert.equal(made.use(id), undefined);
    const other = made.open(principal);
    at.now += HOUR;
    assert.equal(made.use(other), undefined);
  });

  it('is bounded in number: who has not come for longest gives way', () => {
    const { made } = logins();
    const ids = Array.from({ length: 1_000 }, () => made.open(principal));
    assert.ok(made.use(ids[0] ?? ''));
    made.open(principal);
    assert.deepEqual([made.use(ids[0] ?? '') !== undefined, made.use(ids[1] ?? '')], [true, undefined]);
    assert.equal(made.size, 1_000);
  });

  it('is nothing that one may take from others by many of them', () => {
    const { at, made } = logins();
    const own = made.open({ ...principal, name: 'grace' });
    at.now = 1;
    const first = made.open(principal);
    const opened = made.use(first);
    at.now = 2;
    for (let n = 0; n < 2_000; n += 1) made.open(principal);
    assert.ok(made.use(own));
    assert.equal(made.use(first), undefined);
    assert.equal(made.size, 1_000);
    // Who looks on by one that gave way sees nothing further: no logout would end it.
    assert.equal(opened && made.goesOn(opened), false);
  });

  it('is over for a stream, too, when it was closed', () => {
    const { made } = logins();
    const id = made.open(principal);
    const login = made.use(id);
    assert.ok(login !== undefined && made.goesOn(login));
    made.close(id);
    assert.equal(made.goesOn(login), false);
  });
});
