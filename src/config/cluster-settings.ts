/** The settings of a member of a cluster. The whole group can be written in the file; each has its variable and flag. */
import { parseAddress } from './address.js';
import { duration, type Kind, optional, path, scalar } from './kinds.js';
import type { ServerSetting } from './server-settings.js';
import { type Group, groupKind } from './settings-table.js';
import type { StoreAddress } from './store-address.js';

/** Between sidecars. All unset: no TLS. They come together. */
export interface PeerTlsSettings {
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly ca: string | undefined;
}

interface MemberSettings {
  readonly name: string;
  /** Unset: as many as the cluster has; a new one has {@link PARTITIONS}. */
  readonly partitions: number | undefined;
  /** host:port. Unset: where this machine reaches the store, port 7423 or a free one. */
  readonly peerListen: string | undefined;
  /** host:port, or a host alone: with the port of `peerListen`. Unset: `peerListen`. */
  readonly advertise: string | undefined;
  /** 0: a gateway. */
  readonly weight: number;
  /** ms */
  readonly session: number;
  /** Unset: as many as are connected when it starts. */
  readonly replicas: number | undefined;
}

export interface ClusterFields extends MemberSettings {
  readonly tls: PeerTlsSettings;
}

/** Of a sidecar that is a member of a cluster. */
export interface ClusterSettings extends ClusterFields {
  readonly store: StoreAddress;
  /** The store, unless another one is named. */
  readonly registry: StoreAddress;
}

export const CLUSTER_DEFAULTS: ClusterFields = Object.freeze({
  name: 'keyturn',
  partitions: undefined,
  peerListen: undefined,
  advertise: undefined,
  weight: 1,
  session: 3_000,
  replicas: undefined,
  tls: Object.freeze({ cert: undefined, key: undefined, ca: undefined }),
});

const AUTO = 'auto';
const MOST_PARTITIONS = 256;
/** Of a cluster that begins, when its first member says nothing of it. */
export const PARTITIONS = 64;

/** It becomes part of the name of every key in the store. */
const clusterName: Kind<string> = scalar({
  allowed: 'a name of 1 to 63 of A-Za-z0-9._-',
  parse: (value) => (typeof value === 'string' && /^[A-Za-z0-9._-]{1,63}$/.test(value) ? value : undefined),
  write: (value) => value,
});

const partitions: Kind<number> = scalar({
  allowed: `a power of two from 1 to ${MOST_PARTITIONS}`,
  parse: (value) => {
    const count = wholeOf(value, 1, MOST_PARTITIONS);
    return count !== undefined && (count & (count - 1)) === 0 ? count : undefined;
  },
  write: (value) => value,
});

/** Also from a variable or a flag, where everything is text. */
function whole(least: number, most: number): Kind<number> {
  return scalar({
    allowed: `a whole number from ${least} to ${most}`,
    parse: (value) => wholeOf(value, least, most),
    write: (value) => value,
  });
}

function wholeOf(value: unknown, least: number, most: number): number | undefined {
  const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) && number >= least && number <= most
    ? number
    : undefined;
}

/** Port 0 takes a free one. */
const listenAddress: Kind<string> = scalar({
  allowed: 'host:port or [IPv6]:port',
  parse: (value) => (typeof value === 'string' && parseAddress(value)?.kind === 'tcp' ? value : undefined),
  write: (value) => value,
});

/** All addresses of a machine: fine to listen on, and nothing that another one could connect to. */
const ANYWHERE: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

const advertised: Kind<string> = scalar({
  allowed: 'an address at which other sidecars reach this one: host:port, [IPv6]:port, or a host or [IPv6] alone',
  parse: (value) => (typeof value === 'string' && isAdvertisable(value) ? value : undefined),
  write: (value) => value,
  hint: (value) =>
    typeof value === 'string' && /^(0\.0\.0\.0|\[?::\]?)(:\d+)?$/.test(value)
      ? 'that is every address of a machine, and none that others can connect to'
      : undefined,
});

function isAdvertisable(text: string): boolean {
  const whole = parseAddress(text);
  const alone = whole === undefined ? parseAddress(`${text}:1`) : undefined;
  const parsed = whole ?? alone;
  return parsed?.kind === 'tcp' && parsed.port > 0 && !ANYWHERE.has(parsed.host);
}

const MEMBER_SETTINGS: { readonly [K in keyof MemberSettings]: ServerSetting<MemberSettings[K]> } = {
  name: {
    kind: clusterName,
    env: 'KEYTURN_CLUSTER_NAME',
    flag: '--cluster-name',
    operand: 'name',
    doc: 'Name of the cluster, with which every key in the store begins: one store can have several clusters.',
  },
  partitions: {
    kind: optional(partitions, AUTO, PARTITIONS),
    env: 'KEYTURN_CLUSTER_PARTITIONS',
    flag: '--cluster-partitions',
    operand: 'count',
    doc: 'Into how many partitions the queues are divided. Fixed when the first member writes it; another value is refused. `auto`: as many as the cluster has, 64 in a new one.',
  },
  peerListen: {
    kind: optional(listenAddress, AUTO, ''),
    env: 'KEYTURN_CLUSTER_PEER_LISTEN',
    flag: '--cluster-peer-listen',
    operand: 'address',
    doc: 'Where other sidecars connect. `auto`: the address from which this machine reaches the store, port 7423, or a free one if that is taken.',
  },
  advertise: {
    kind: optional(advertised, AUTO, ''),
    env: 'KEYTURN_CLUSTER_ADVERTISE',
    flag: '--cluster-advertise',
    operand: 'address',
    doc: 'What other sidecars are told. `auto`: `peer_listen`. A host alone stands for that host with the port of `peer_listen`; in Kubernetes the IP of the pod.',
  },
  weight: {
    kind: whole(0, 100),
    env: 'KEYTURN_CLUSTER_WEIGHT',
    flag: '--cluster-weight',
    operand: 'weight',
    doc: 'Its share of the partitions against that of others. 0: a gateway, which takes every call, forwards it and owns nothing.',
  },
  session: {
    kind: duration(1_000, 60_000),
    env: 'KEYTURN_CLUSTER_SESSION',
    flag: '--cluster-session',
    operand: 'duration',
    doc: 'A member that is silent for so long is over, and others take its partitions.',
  },
  replicas: {
    kind: optional(whole(0, 5), AUTO, 0),
    env: 'KEYTURN_CLUSTER_REPLICAS',
    flag: '--cluster-replicas',
    operand: 'count',
    doc: 'How many replicas of the store must have a write before it is answered. `auto`: as many as are connected to it when this sidecar starts.',
  },
};

const file = optional(path, 'none', '');

const PEER_TLS_SETTINGS: { readonly [K in keyof PeerTlsSettings]: ServerSetting<PeerTlsSettings[K]> } = {
  cert: {
    kind: file,
    env: 'KEYTURN_CLUSTER_TLS_CERT',
    flag: '--cluster-tls-cert',
    operand: 'file',
    doc: 'PEM file with the certificate that this sidecar shows to the others, as server and as client.',
  },
  key: {
    kind: file,
    env: 'KEYTURN_CLUSTER_TLS_KEY',
    flag: '--cluster-tls-key',
    operand: 'file',
    doc: 'PEM file with the private key of that certificate, without a passphrase.',
  },
  ca: {
    kind: file,
    env: 'KEYTURN_CLUSTER_TLS_CA',
    flag: '--cluster-tls-ca',
    operand: 'file',
    doc: 'PEM file with the authority of all sidecars of the cluster, and of nobody else.',
  },
};

export const CLUSTER_DOC = 'Membership in a cluster: only with a store that several sidecars share.';
const PEER_TLS_DOC = 'TLS between the sidecars, with an authority of its own. All three, or none.';

export const CLUSTER_GROUP: Group<ClusterFields> = {
  table: {
    ...MEMBER_SETTINGS,
    tls: { kind: groupKind({ table: PEER_TLS_SETTINGS, refusals: {} }), doc: PEER_TLS_DOC },
  },
  refusals: {},
};

/** What stands behind one flag each, the path of each before it; the flags by the names that the parser gives them. */
export const MEMBER = {
  path: 'cluster.',
  settings: MEMBER_SETTINGS,
  flags: {
    name: 'clusterName',
    partitions: 'clusterPartitions',
    peerListen: 'clusterPeerListen',
    advertise: 'clusterAdvertise',
    weight: 'clusterWeight',
    session: 'clusterSession',
    replicas: 'clusterReplicas',
  },
} as const;

export const PEER_TLS = {
  path: 'cluster.tls.',
  settings: PEER_TLS_SETTINGS,
  flags: { cert: 'clusterTlsCert', key: 'clusterTlsKey', ca: 'clusterTlsCa' },
} as const;

export type ClusterFlag =
  | (typeof MEMBER.flags)[keyof typeof MEMBER.flags]
  | (typeof PEER_TLS.flags)[keyof typeof PEER_TLS.flags];
