/** A server that does what none should: a request has its end all the same, and nothing is taken for an answer that is none. */
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { zooKeeperAddress } from '../../../src/cluster/zookeeper/address.js';
import { ZooKeeperError } from '../../../src/cluster/zookeeper/failures.js';
import { Frames } from '../../../src/cluster/zookeeper/frames.js';
import { JuteReader, JuteWriter } from '../../../src/cluster/zookeeper/jute.js';
import { check, getChildren, multi, sync } from '../../../src/cluster/zookeeper/requests.js';
import { ZooKeeperSession } from '../../../src/cluster/zookeeper/session.js';
import { JournalError } from '../../../src/local/journal/journal.js';
import { until } from '../../cli/keyturn-process.js';
import { HELD, HeldClock } from '../../support/cluster/held-clock.js';
import { FakeClock } from '../../support/fake-clock.js';

type Answer = (xid: number, type: number, socket: Socket) => Buffer | undefined;
type Greeting = (id: bigint, connection: number, password: Buffer) => Buffer | Promise<Buffer>;

const WELCOME: Greeting = (id) =>
  new JuteWriter()
    .int(0)
    .int(4_000)
    .long(id || 7n)
    .bytes(Buffer.alloc(16, 1))
    .frame();
const OVER: Greeting = () => new JuteWriter().int(0).int(0).long(0n).bytes(Buffer.alloc(16)).frame();

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a server on TCP has a port');
  return address.port;
}

function answerTo(xid: number, code = 0): JuteWriter {
  return new JuteWriter().int(xid).long(1n).int(code);
}

class StrangeServer {
  readonly clock = new HeldClock();
  connections = 0;

  private constructor(private readonly server: Server) {}

  static async start(t: TestContext, answer: Answer, greeting: Greeting = WELCOME): Promise<StrangeServer> {
    const server = createServer();
    const sockets = new Set<Socket>();
    const strange = new StrangeServer(server);
    server.on('connection', (socket) => {
      sockets.add(socket);
      strange.connections += 1;
      const [frames, number] = [new Frames(), strange.connections];
      let isGreeted = false;
      socket.on('error', () => undefined);
      socket.on('data', (bytes) => {
        for (const frame of frames.take(bytes)) {
          const from = new JuteReader(frame);
          if (isGreeted) socket.write(answer(from.int(), from.int(), socket) ?? Buffer.alloc(0));
          else {
            isGreeted = true;
            from.int();
            from.long();
            from.int();
            void Promise.resolve(greeting(from.long(), number, from.bytes())).then((welcome) => socket.write(welcome));
          }
        }
      });
    });
    t.after(() => {
      server.close();
      for (const socket of sockets) socket.destroy();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return strange;
  }

  get port(): number {
    return portOf(this.server);
  }

  session(t: TestContext, isLasting?: true): ZooKeeperSession {
    const options = { clock: this.clock, deadline: HELD, timeout: 4_000, ...(isLasting && { isLasting }) };
    const session = new ZooKeeperSession(zooKeeperAddress(`zookeeper://127.0.0.1:${this.port}`), options);
    t.after(() => session.abandon());
    return session;
  }
}

function asks(session: ZooKeeperSession): Promise<unknown> {
  return session.use((connection) => connection.ask(getChildren('/a')));
}

function isUnknown(pattern: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof JournalError && error.problem === 'io' && pattern.test(error.message);
}

describe('servers that take their time', () => {
  it('S565: are waited for longer when each of them was tried in vain', async (t) => {
    const clock = new FakeClock();
    const slow = await StrangeServer.start(
      t,
      () => undefined,
      (id, ...rest) => new Promise((resolve) => void clock.after(300, () => resolve(WELCOME(id, ...rest)))),
    );
    const at = `127.0.0.1:${slow.port}`;
    const address = zooKeeperAddress(`zookeeper://${at},${at},${at}`);
    const session = new ZooKeeperSession(address, { clock, deadline: 500, timeout: 4_000 });
    t.after(() => session.abandon());
    await until('one of them is used', async () => {
      const used = session.use(async () => true).catch(() => false);
      let isTried: boolean | undefined;
      void used.then((is) => (isTried = is));
      while (isTried === undefined) {
        clock.advance(10);
        await new Promise((resolve) => setImmediate(resolve));
      }
      return isTried;
    });
  });
});

const WRONG: readonly (readonly [what: string, answer: Answer, pattern: RegExp])[] = [
  ['answers another request', (xid) => answerTo(xid + 1).frame(), /an answer to 2, which was not asked now/],
  ['answers with less than an answer', (xid) => answerTo(xid).frame(), /is not understood/],
  ['answers with a list that is longer than its bytes', (xid) => answerTo(xid).int(9_999).frame(), /a list of 9999/],
  ['says that gigabytes follow', () => Buffer.from('7fffffff', 'hex'), /a frame of 2147483647 bytes/],
  ['says that less than nothing follows', () => Buffer.from('ffffffff', 'hex'), /a frame of -1 bytes/],
  ['answers a ping that nobody sent', () => answerTo(-2).frame(), /an answer to -2/],
  [
    'says half a word and goes',
    (_xid, _type, socket) => void socket.end(Buffer.from('0000', 'hex')),
    /closed the connection/,
  ],
];

describe('a server of ZooKeeper that', () => {
  for (const [what, answer, pattern] of WRONG) {
    it(`${what} is left, and what was asked is unknown`, async (t) => {
      const strange = await StrangeServer.start(t, answer);
      await assert.rejects(asks(strange.session(t)), isUnknown(pattern));
    });
  }

  it('does not answer is left when the time is over, and nothing is sent again', async (t) => {
    let asked = 0;
    const strange = await StrangeServer.start(t, () => {
      asked += 1;
      strange.clock.expire();
      return undefined;
    });
    await assert.rejects(asks(strange.session(t)), isUnknown(/no answer within/));
    assert.deepEqual([asked, strange.connections], [1, 1]);
  });

  it('answers a request of the connection before is not believed', async (t) => {
    let first: Socket | undefined;
    const strange = await StrangeServer.start(t, (xid, _type, socket) => {
      first ??= socket;
      if (socket === first) {
        strange.clock.expire();
        return undefined;
      }
      // What the other connection waited for comes now.
      first.write(answerTo(1, -101).frame());
      return answerTo(xid, -102).frame();
    });
    const session = strange.session(t);
    await assert.rejects(asks(session), isUnknown(/no answer within/));
    await assert.rejects(asks(session), (error) => error instanceof ZooKeeperError && error.code === -102);
  });

  it('refuses one of two requests fails that one alone', async (t) => {
    const strange = await StrangeServer.start(t, (xid, type) =>
      (type === 9 ? answerTo(xid).text('/a') : answerTo(xid, -101)).frame(),
    );
    const session = strange.session(t);
    const both = await session.use((connection) =>
      Promise.allSettled([connection.ask(sync('/a')), connection.ask(getChildren('/a'))]),
    );
    assert.deepEqual(
      both.map(({ status }) => status),
      ['fulfilled', 'rejected'],
    );
  });

  it('says that the session is over ends it for good, without asking anything', async (t) => {
    const strange = await StrangeServer.start(t, () => assert.fail('nothing was to be asked'), OVER);
    const session = strange.session(t);
    for (let time = 0; time < 2; time += 1) {
      await assert.rejects(asks(session), (error) => error instanceof ZooKeeperError && error.code === -112);
    }
    assert.deepEqual([session.isOver, strange.connections], [true, 1]);
  });

  it('ends a connection is asked for the same session, with its password', async (t) => {
    const asked: (readonly [bigint, number | undefined])[] = [];
    const strange = await StrangeServer.start(
      t,
      (xid, _type, socket) => (asked.length < 3 ? void socket.destroy() : answerTo(xid, -101).frame()),
      (id, connection, password) => {
        asked.push([id, password[0]]);
        return WELCOME(id, connection, password);
      },
    );
    const session = strange.session(t);
    for (let time = 0; time < 2; time += 1)
      await assert.rejects(asks(session), isUnknown(/closed the connection|RESET/));
    await assert.rejects(asks(session), ZooKeeperError);
    assert.deepEqual(asked, [
      [0n, 0],
      [7n, 1],
      [7n, 1],
    ]);
  });

  it('says so to one that lasts is asked for another one', async (t) => {
    const ids: bigint[] = [];
    const strange = await StrangeServer.start(
      t,
      (xid, _type, socket) => {
        if (ids.length === 1) return void socket.destroy();
        return answerTo(xid, -101).frame();
      },
      (id, connection, password) => {
        ids.push(id);
        return (connection === 2 ? OVER : WELCOME)(id, connection, password);
      },
    );
    const session = strange.session(t, true);
    await assert.rejects(asks(session), isUnknown(/./));
    await assert.rejects(asks(session), ZooKeeperError);
    assert.deepEqual(ids, [0n, 7n, 0n], 'a new one, that one again, a new one');
  });

  it('takes another connection for that of the session is asked by a new one, whichever part of a step says so', async (t) => {
    const failed = (to: JuteWriter) => to.int(-1).bool(false).int(-118).int(-118).int(-1).bool(true).int(-1);
    const strange = await StrangeServer.start(t, (xid) => failed(answerTo(xid)).frame());
    const session = strange.session(t);
    const step = () =>
      session.use(async (connection) => {
        const [code = 0] = await connection.ask(multi([check('/a')]));
        throw new ZooKeeperError(code, 'a step');
      });
    for (let time = 1; time <= 3; time += 1) {
      await assert.rejects(step(), ZooKeeperError);
      assert.deepEqual([strange.connections, session.isOver], [time, false]);
    }
  });

  it('is not reached is left for the next one', async (t) => {
    const strange = await StrangeServer.start(t, (xid) => answerTo(xid, -101).frame());
    const dead = createServer().listen(0, '127.0.0.1');
    await once(dead, 'listening');
    const gone = portOf(dead);
    dead.close();
    await once(dead, 'close');
    for (let time = 0; time < 4; time += 1) {
      const address = zooKeeperAddress(`zookeeper://127.0.0.1:${gone},127.0.0.1:${strange.port}`);
      const session = new ZooKeeperSession(address, { clock: strange.clock, deadline: 2 * HELD, timeout: 4_000 });
      t.after(() => session.abandon());
      await assert.rejects(asks(session), (error) => error instanceof ZooKeeperError && error.code === -101);
    }
  });
});
