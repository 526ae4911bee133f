/**
 * A coordinator in memory behind the public service (`alone`) or behind the service for other sidecars (`home`), and a public service
 * that gives every call to that home (`gateway ADDRESS`): what the link costs, and nothing else.
 */
import { once } from 'node:events';
import { setTimeout as pass } from 'node:timers/promises';
import type { Coordinator } from '../../src/coordinator.js';
import { DEFAULT_LIMITS } from '../../src/core/contract/limits.js';
import { peerLinks } from '../../src/grpc/peer/connect.js';
import { startPeerServer } from '../../src/grpc/peer/peer-server.js';
import { startGrpcServer } from '../../src/grpc/server/server.js';
import { startCoordinator } from '../coordinator.js';
import { HOST } from './native-server.js';

const LISTEN = `${HOST}:0`;
const HOME = 'home';
const BETWEEN_LOOKS = 5;
const log = { info: ignore, warn: tell, error: tell };
const shared = { secret: 'a secret', version: '1', routes: () => 1, log };

async function serve(role: string, home: string): Promise<string> {
  switch (role) {
    case 'alone':
      return serveAll(startCoordinator());
    case 'home':
      return serveLinks(startCoordinator());
    case 'gateway':
      return serveAll(await linkTo(home));
    default:
      throw new Error(`the role ${role} is not allowed; allowed: alone, home, gateway`);
  }
}

async function serveAll(coordinator: Coordinator): Promise<string> {
  return (await startGrpcServer({ listen: LISTEN, coordinator, limits: DEFAULT_LIMITS, log, observe: ignore })).address;
}

async function serveLinks(coordinator: Coordinator): Promise<string> {
  const own = { ...shared, incarnation: HOME, home: () => coordinator, limits: DEFAULT_LIMITS };
  return (await startPeerServer({ ...own, listen: LISTEN })).address;
}

async function linkTo(address: string): Promise<Coordinator> {
  const links = peerLinks({ ...shared, incarnation: 'gateway' });
  const coordinator = links.connect(address, HOME, 0);
  while ([...links.standing()].some(({ problem }) => problem !== undefined)) await pass(BETWEEN_LOOKS);
  return coordinator;
}

function ignore(): void {}

function tell(...said: unknown[]): void {
  console.error(...said);
}

const [role = '', home = ''] = process.argv.slice(2);
console.log(JSON.stringify({ grpc: await serve(role, home) }));
// Its links and its server would end with whatever else keeps it alive.
await once(process, 'SIGTERM');
process.exit();
