/** A folder with the certificates that a test of TLS needs, good ones and all kinds of bad ones. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Authority, type Pair } from './certificates.js';

const DAY = 86_400_000;

/**
 * The files, and what each is. A certificate `NAME.pem` has its key in `NAME.key`. A server's is for localhost,
 * 127.0.0.1 and ::1 unless it says otherwise.
 */
export const CERTIFICATE_FILES = {
  'ca.pem': 'the authority that issued all but the foreign ones',
  'server.pem': 'a server',
  'renewed.pem': 'the same server, with a later certificate and another key',
  'client.pem': 'a client',
  'expired.pem': 'a server, ended yesterday',
  'expired-client.pem': 'a client, ended yesterday',
  'elsewhere.pem': 'a server by the name elsewhere.example alone',
  'other-ca.pem': 'another authority',
  'other-server.pem': 'a server of the other authority',
  'other-client.pem': 'a client of the other authority',
} as const;

/** Makes the folder if need be, and all files of {@link CERTIFICATE_FILES} in it. */
export async function writeCertificates(folder: string): Promise<void> {
  const [authority, other] = await Promise.all([Authority.make('Keyturn test'), Authority.make('Somebody else')]);
  const pairs: Readonly<Record<string, Pair>> = {
    server: await authority.issue({ name: 'server', use: 'server' }),
    renewed: await authority.issue({ name: 'renewed', use: 'server' }),
    client: await authority.issue({ name: 'client', use: 'client' }),
    expired: await authority.issue({ name: 'expired', use: 'server', endsIn: -DAY }),
    'expired-client': await authority.issue({ name: 'expired client', use: 'client', endsIn: -DAY }),
    elsewhere: await authority.issue({ name: 'elsewhere', use: 'server', hosts: ['elsewhere.example'] }),
    'other-server': await other.issue({ name: 'other server', use: 'server' }),
    'other-client': await other.issue({ name: 'other client', use: 'client' }),
  };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'ca.pem'), authority.cert);
  writeFileSync(join(folder, 'other-ca.pem'), other.cert);
  for (const [name, { cert, key }] of Object.entries(pairs)) {
    writeFileSync(join(folder, `${name}.pem`), cert);
    writeFileSync(join(folder, `${name}.key`), key, { mode: 0o600 });
  }
}
