import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { isInstalled, startNative } from '../../bench/load/native-server.js';
import { BeanstalkConnection } from '../../bench/peers/beanstalkd.js';

const NODE = { needs: process.execPath, install: 'nothing' };

test('a program is installed, or it is not', async () => {
  assert.equal(await isInstalled(NODE, '--version'), true);
  assert.equal(await isInstalled({ needs: 'no-such-program-at-all', install: '' }, '--version'), false);
});

test('a native server is started on a port of its own, and ended', async () => {
  const script = "require('node:net').createServer().listen(Number(process.argv[1]), '127.0.0.1')";
  const server = await startNative(NODE, (port) => ['-e', script, String(port)]);
  assert.ok(server.port > 0);
  await server.stop();
  await assert.rejects(
    startNative(NODE, () => ['-e', 'process.exit(3)']),
    /ended with 3$/,
  );
});

/** Says these bytes to the first who connects, one by one, and keeps what it hears. */
async function scripted(t: TestContext, says: string): Promise<{ readonly port: number; heard(): string }> {
  let heard = '';
  const server: Server = createServer((socket: Socket) => {
    socket.setNoDelay(true);
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      heard += chunk.toString('latin1');
    });
    socket.once('data', async () => {
      for (const byte of says) {
        socket.write(byte, 'latin1');
        await new Promise(setImmediate);
      }
      socket.end();
    });
  });
  t.after(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP server without a port');
  return { port: address.port, heard: () => heard };
}

test('beanstalkd: commands of a turn of the event loop go out together, replies are told in their order however they are cut', async (t) => {
  const { port, heard } = await scripted(t, 'INSERTED 1\r\nRESERVED 1 8\r\nsome\r\nxy\r\nDELETED\r\n');
  const connection = await BeanstalkConnection.connect(port);
  const answers = await Promise.all([
    connection.put(Buffer.from('some\r\nxy')),
    connection.reserve(),
    connection.delete('1'),
  ]);
  assert.deepEqual(answers, [undefined, { id: '1', body: Buffer.from('some\r\nxy') }, undefined]);
  assert.equal(heard(), 'put 0 0 20 8\r\nsome\r\nxy\r\nreserve\r\ndelete 1\r\n');
  connection.close();
});

test('beanstalkd: another reply than expected is an error, and so is the end of the connection', async (t) => {
  const { port } = await scripted(t, 'OUT_OF_MEMORY\r\n');
  const connection = await BeanstalkConnection.connect(port);
  const [put, reserve] = await Promise.allSettled([connection.put(Buffer.from('x')), connection.reserve()]);
  assert.match(String(put.status === 'rejected' && put.reason), /expected INSERTED, got OUT_OF_MEMORY/);
  assert.match(String(reserve.status === 'rejected' && reserve.reason), /beanstalkd closed the connection/);
  connection.close();
});
