/** A port for a server that is started again, or that does not tell which one it took. */
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below those that systems hand out by themselves (Linux from 32,768, others from 49,152): nobody gets it in between. */
const FIRST = 20_000;
const LAST = 32_000;
const TRIES = 100;

/** A port of loopback on which nobody listens now, and which no connection is given by chance. */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < TRIES; tried += 1) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    if (await isFree(port)) return port;
  }
  throw new Error(`none of ${TRIES} ports from ${FIRST} to ${LAST} is free`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
