/** Why an address cannot be listened on, and what to do: the system says it by a number and half a sentence. */
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { EXIT } from '../exit-codes.js';
import { CommandFailure } from '../failure.js';

interface Remedy {
  readonly code: string;
  /** Follows the address. */
  readonly what: string;
  /** Another value of the setting is what helps; else what is there has to be looked after. */
  readonly isSetting: boolean;
}

type Setting = 'listen' | 'http_listen' | 'console_listen' | 'cluster.peer_listen';

const SET_BY: Readonly<Record<Setting, string>> = {
  listen: '--listen, KEYTURN_LISTEN or listen in the file',
  http_listen: '--http-listen, KEYTURN_HTTP_LISTEN or http_listen in the file',
  console_listen: '--console-listen, KEYTURN_CONSOLE_LISTEN or console_listen in the file',
  'cluster.peer_listen': '--cluster-peer-listen, KEYTURN_CLUSTER_PEER_LISTEN or cluster.peer_listen in the file',
};

const REMEDIES: readonly Remedy[] = [
  { code: 'EADDRINUSE', what: 'is in use by another process; end that one, or take another address', isSetting: false },
  { code: 'EADDRNOTAVAIL', what: 'is no address of this machine', isSetting: true },
  { code: 'ENOTFOUND', what: 'names a host that cannot be found', isSetting: true },
  { code: 'EAI_AGAIN', what: 'names a host that cannot be looked up now', isSetting: true },
  { code: 'ENOENT', what: 'stands in a directory that does not exist; make it first', isSetting: true },
  { code: 'ENOTDIR', what: 'stands below something that is no directory', isSetting: true },
  {
    code: 'EACCES',
    what: 'is not allowed to this user; ports below 1024 and directories of others are not',
    isSetting: true,
  },
  {
    code: 'EPERM',
    what: 'is not allowed to this user; ports below 1024 and directories of others are not',
    isSetting: true,
  },
];

/** @param error of the server; it or its cause has the code of the system somewhere in it */
export function cannotListen(setting: Setting, address: string, error: unknown): CommandFailure {
  const why = error instanceof Error ? error.message : String(error);
  const code = codeOf(address, why);
  const remedy = REMEDIES.find((known) => known.code === code);
  if (remedy === undefined) return new CommandFailure(`${setting}: cannot listen on ${address}: ${why}`, EXIT.failure);
  return new CommandFailure(
    `${setting}: ${address} ${remedy.what} (${code}). It is set by ${SET_BY[setting]}.`,
    remedy.isSetting ? EXIT.usage : EXIT.failure,
  );
}

/** For a socket in a directory that is not there libuv says "permission denied": so the directory is asked first. */
function codeOf(address: string, why: string): string | undefined {
  if (address.startsWith('unix:')) {
    const directory = dirname(address.slice('unix:'.length));
    try {
      if (!statSync(directory).isDirectory()) return 'ENOTDIR';
    } catch (error) {
      if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
    }
  }
  return REMEDIES.find(({ code }) => why.includes(code))?.code;
}
