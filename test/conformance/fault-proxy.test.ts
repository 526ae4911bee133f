/** The proxy does to a connection what it is told, to the byte. */
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { FaultProxy } from '../../clients/conformance/process/fault-proxy.js';

interface Scene {
  readonly proxy: FaultProxy;
  /** Of the server, one for each connection. */
  readonly accepted: Socket[];
  dial(): Promise<Socket>;
}

async function scene(t: TestContext): Promise<Scene> {
  const accepted: Socket[] = [];
  const server: Server = createServer((socket) => {
    socket.on('error', () => undefined);
    accepted.push(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  ok(typeof address === 'object' && address !== null);
  const proxy = await FaultProxy.start(`127.0.0.1:${address.port}`);
  const dialed: Socket[] = [];
  t.after(async () => {
    for (const socket of [...dialed, ...accepted]) socket.destroy();
    await proxy.close();
    server.close();
  });
  const dial = async (): Promise<Socket> => {
    const socket = connect({ host: '127.0.0.1', port: Number(proxy.address.split(':')[1]) });
    dialed.push(socket);
    const seen = accepted.length;
    await once(socket, 'connect');
    socket.on('error', () => undefined);
    if (accepted.length === seen) await once(server, 'connection');
    return socket;
  };
  return { proxy, accepted, dial };
}

async function read(socket: Socket, bytes: number): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of socket.iterator({ destroyOnReturn: false })) {
    parts.push(part);
    length += part.length;
    if (length >= bytes) break;
  }
  return Buffer.concat(parts).toString();
}

async function readAll(socket: Socket): Promise<string> {
  const parts: Buffer[] = [];
  socket.on('data', (part: Buffer) => parts.push(part));
  if (!socket.closed) await once(socket, 'close');
  return Buffer.concat(parts).toString();
}

function only(sockets: readonly Socket[]): Socket {
  const [socket] = sockets;
  ok(socket !== undefined && sockets.length === 1, `${sockets.length} connections`);
  return socket;
}

test('what is sent arrives, in both directions', async (t) => {
  const { accepted, dial } = await scene(t);
  const client = await dial();
  client.write('question');
  strictEqual(await read(only(accepted), 8), 'question');
  only(accepted).write('answer');
  strictEqual(await read(client, 6), 'answer');
});

test('cut after so many bytes to the sidecar: so many arrive, then both ends are closed', async (t) => {
  const { proxy, accepted, dial } = await scene(t);
  const client = await dial();
  proxy.cutAfter('to_sidecar', 7);
  const clientEnds = readAll(client);
  const arrived = readAll(only(accepted));
  client.write('0123456789');
  deepStrictEqual([await arrived, await clientEnds], ['0123456', '']);
});

test('cut after so many bytes to the client: what goes to the sidecar does not count', async (t) => {
  const { proxy, accepted, dial } = await scene(t);
  const client = await dial();
  proxy.cutAfter('to_client', 4);
  client.write('0123456789');
  strictEqual(await read(only(accepted), 10), '0123456789');
  const arrived = readAll(client);
  only(accepted).write('ab');
  only(accepted).write('cdef');
  strictEqual(await arrived, 'abcd');
});

test('dropped answers: requests arrive, answers do not, and such a connection does not outlive the healing', async (t) => {
  const { proxy, accepted, dial } = await scene(t);
  const client = await dial();
  proxy.dropAnswers();
  client.write('request');
  strictEqual(await read(only(accepted), 7), 'request');
  const arrived = readAll(client);
  only(accepted).write('answer');
  client.write('again');
  strictEqual(await read(only(accepted), 5), 'again');
  proxy.heal();
  strictEqual(await arrived, '');
});

test('silence: nothing arrives and nobody is told, until it is healed', async (t) => {
  const { proxy, accepted, dial } = await scene(t);
  const client = await dial();
  proxy.silence();
  client.write('first ');
  client.write('second');
  const other = await dial();
  strictEqual(proxy.open, 2);
  proxy.heal();
  const [first] = accepted;
  ok(first !== undefined);
  strictEqual(await read(first, 12), 'first second');
  strictEqual(client.destroyed || other.destroyed, false);
});

test('held answers: requests arrive and are counted, answers wait until it is healed and keep their order', async (t) => {
  const { proxy, accepted, dial } = await scene(t);
  const client = await dial();
  proxy.holdAnswers();
  only(accepted).write('an answer ');
  client.write('crosses');
  strictEqual(await read(only(accepted), 7), 'crosses');
  strictEqual(proxy.toSidecar, 7);
  only(accepted).write('that was made before');
  client.write('again');
  strictEqual(await read(only(accepted), 5), 'again');
  let arrived = 0;
  client.on('data', (bytes: Buffer) => {
    arrived += bytes.length;
  });
  const other = await dial();
  strictEqual(arrived, 0);
  proxy.heal();
  while (arrived < 30) await once(client, 'data');
  strictEqual(arrived, 30);
  strictEqual(client.destroyed || other.destroyed, false);
});

test('held answers: the end of a connection that the sidecar closed waits with them', async (t) => {
  const { proxy, accepted, dial } = await scene(t);
  const client = await dial();
  proxy.holdAnswers();
  const ends = readAll(client);
  only(accepted).end('the last words');
  client.write('still open');
  strictEqual(await read(only(accepted), 10), 'still open');
  proxy.heal();
  client.end();
  strictEqual(await ends, 'the last words');
});

test('refused: new connections end at once, old ones go on; healed they are let through', async (t) => {
  const { proxy, accepted, dial } = await scene(t);
  const old = await dial();
  proxy.refuse();
  const refused = connect({ host: '127.0.0.1', port: Number(proxy.address.split(':')[1]) });
  await rejects(once(refused, 'end'), /ECONNRESET/);
  strictEqual(proxy.accepted, 1);
  old.write('still');
  strictEqual(await read(only(accepted), 5), 'still');
  proxy.heal();
  await dial();
  strictEqual(proxy.accepted, 2);
});

test('cut: every connection ends now', async (t) => {
  const { proxy, accepted, dial } = await scene(t);
  const clients = [await dial(), await dial()];
  const ends = [...clients, ...accepted].map((socket) => readAll(socket));
  proxy.cut();
  deepStrictEqual(await Promise.all(ends), ['', '', '', '']);
  strictEqual(proxy.open, 0);
});

test('delay: bytes take so much longer, and keep their order', async (t) => {
  const { proxy, accepted, dial } = await scene(t);
  const client = await dial();
  proxy.delay(60);
  const since = performance.now();
  client.write('a');
  client.write('b');
  strictEqual(await read(only(accepted), 2), 'ab');
  ok(performance.now() - since >= 55);
});
