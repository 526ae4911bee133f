/** Two principals on one sidecar, each with queues of its own and some that both may use. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { Metadata } from '@grpc/grpc-js';
import { Authenticator, type Secrets } from '../../../src/access/authenticator.js';
import type { Right } from '../../../src/access/settings.js';
import { hashOf, Tokens } from '../../../src/access/tokens.js';
import type { Coordinator } from '../../../src/coordinator.js';
import type { Turn } from '../../../src/grpc/gen/keyturn/v1/coordinator.js';
import { localCoordinator } from '../../support/local-coordinator.js';
import { SessionClient } from '../../support/session-client.js';
import { type Sidecar, startSidecar } from '../../support/sidecar.js';

const EVERYTHING: Right = { queues: ['shared', 'q'], groups: ['g'], may: ['produce', 'consume', 'view', 'operate'] };
const RIGHTS: Readonly<Record<string, readonly Right[]>> = {
  ada: [EVERYTHING, { queues: ['ada.*'], groups: [], may: ['produce', 'consume', 'view', 'payload', 'operate'] }],
  bob: [EVERYTHING, { queues: ['bob.*'], groups: [], may: ['produce', 'consume', 'view', 'operate'] }],
};

export interface Stage extends Sidecar {
  /** A session of this principal. */
  session(name: string): SessionClient;
  metadata(name: string): Metadata;
  /** From now on only these have tokens. */
  keep(...names: string[]): void;
  readonly refusedCalls: string[];
  readonly coordinator: Coordinator;
}

function secrets(names: readonly string[]): Secrets {
  const tokens = names.map((name) => ({ name, sha256: hashOf(`secret-${name}`), until: undefined }));
  return { tokens: new Tokens(tokens), jwt: undefined };
}

export async function stage(
  t: TestContext,
  coordinator: Coordinator = localCoordinator(t),
  now?: () => number,
): Promise<Stage> {
  const settings = {
    tokens: 't',
    certificates: [],
    jwt: undefined,
    unix: undefined,
    rights: new Map(Object.entries(RIGHTS)),
    perClient: undefined,
  };
  const authenticator = new Authenticator(settings, secrets(['ada', 'bob']));
  const refusedCalls: string[] = [];
  const refused = (_: unknown, from: string, path: string, why: string) =>
    void refusedCalls.push(`${from.replace(/:\d+$/, '')} ${path} ${why}`);
  const sidecar = await startSidecar(t, coordinator, {
    access: { authenticator, refused, ...(now !== undefined && { now }) },
  });
  const metadata = (name: string) => {
    const made = new Metadata();
    made.set('authorization', `Bearer secret-${name}`);
    return made;
  };
  return {
    ...sidecar,
    coordinator,
    refusedCalls,
    metadata,
    session: (name) => new SessionClient(sidecar.raw, undefined, metadata(name)),
    keep(...names) {
      authenticator.use(secrets(names));
      sidecar.server.endRevoked();
    },
  };
}

export function turnOf(answer: { readonly turn?: Turn | undefined }): Turn {
  assert.ok(answer.turn !== undefined, 'a turn was given');
  return answer.turn;
}
