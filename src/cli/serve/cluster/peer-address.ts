/** Where other sidecars reach this one. */
import { connect } from 'node:net';
import { hostsOf } from '../../../cluster/engines/hosts.js';
import { type Address, formatAddress, parseAddress } from '../../../config/address.js';

/** ms */
const WITHIN = 2_000;

/** The address of this machine from which it reaches the store: the first of its hosts that answers. @throws Error */
export async function addressTowards(store: string): Promise<string> {
  let failed: unknown;
  for (const { host, port } of hostsOf(store)) {
    try {
      const own = await dial(host, port);
      if (own !== undefined) return own;
      failed = new Error(`the connection to ${host} has no address here`);
    } catch (error) {
      failed = error;
    }
  }
  throw failed;
}

/** Somebody answers at the address that others are told. @throws Error */
export async function checkReachable(address: string): Promise<void> {
  const { host, port } = tcp(address);
  await dial(host, port);
}

/** @returns the address of this side */
function dial(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: WITHIN });
    socket.once('connect', () => {
      const { localAddress } = socket;
      socket.destroy();
      resolve(localAddress);
    });
    socket.once('timeout', () => socket.destroy(new Error(`${host} did not answer within ${WITHIN} ms`)));
    socket.once('error', reject);
  });
}

/**
 * What others are told.
 * @param said by `cluster.advertise`: an address, or a host alone
 * @param listens where it listens, with the real port
 * @param own the address from which this machine reaches the store
 */
export function advertised(said: string | undefined, listens: string, own: string): string {
  const at = tcp(listens);
  if (said === undefined) return isAnywhere(at.host) ? formatAddress({ ...at, host: own }) : listens;
  const whole = parseAddress(said);
  if (whole?.kind === 'tcp') return said;
  return formatAddress({ ...tcp(`${said}:1`), port: at.port });
}

/**
 * Where clients reach it.
 * @param grpc where it listens, with the real port
 * @param peer what other sidecars are told
 */
export function reachedAt(grpc: string, peer: string): string {
  return parseAddress(grpc)?.kind === 'tcp' ? advertised(undefined, grpc, tcp(peer).host) : grpc;
}

function isAnywhere(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

function tcp(text: string): Extract<Address, { kind: 'tcp' }> {
  const address = parseAddress(text);
  if (address?.kind !== 'tcp') throw new Error(`${text} is not host:port`);
  return address;
}
