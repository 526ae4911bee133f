/** Sessions with a sidecar that reads its data directory first: it listens, and takes no calls before it is ready. */
import { setTimeout as pass } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { SessionStream } from './session-stream.js';
import { sayHello } from './wire.js';

/** Between two tries, ms. */
const BETWEEN_TRIES = 10;

/** A session that has said hello. Resolves when the sidecar is ready. */
export async function openWhenReady(address: string): Promise<SessionStream> {
  for (;;) {
    const session = await openNow(address);
    if (session !== undefined) return session;
    await pass(BETWEEN_TRIES);
  }
}

/** @returns unset: it is not ready */
async function openNow(address: string): Promise<SessionStream | undefined> {
  const session = new SessionStream(address);
  try {
    await sayHello(session, 'worker-1');
    return session;
  } catch (error) {
    session.close();
    if (error instanceof Error && 'code' in error && error.code === status.UNAVAILABLE) return undefined;
    throw error;
  }
}
