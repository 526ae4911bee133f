/** The engines that this version knows beside a single Redis, whose addresses `redis/address.ts` takes apart. */
import type { EngineForm } from './engine-address.js';

/** A path of nodes: no part is empty, `.` or `..`, and none has what ZooKeeper allows in no name. */
const NODES = /^(?:(?!\.{1,2}(?:\/|$))[^/\p{Cc}\p{Cs}\p{Co}\uFFF0-\uFFFF]+(?:\/|$))*(?<!\/)$/u;

export const ZOOKEEPER: EngineForm = {
  schemes: ['zookeeper'],
  form: 'zookeeper://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]…][/CHROOT]',
  port: 2_181,
  several: true,
  path: NODES,
  pathText: 'behind the hosts stands the path of a node, as /keyturn or /apps/keyturn',
};

export const SENTINEL: EngineForm = {
  schemes: ['redis+sentinel', 'rediss+sentinel'],
  form: 'redis+sentinel://[USER:PASSWORD@]SENTINEL[:PORT][,SENTINEL[:PORT]…]/MASTER[/DATABASE]',
  port: 26_379,
  several: true,
  path: /^[A-Za-z0-9_.-]{1,128}(\/\d{1,5})?$/,
  pathText: 'the name of the master stands behind the sentinels: /MASTER, or /MASTER/DATABASE',
};

export const REDIS_CLUSTER: EngineForm = {
  schemes: ['redis+cluster', 'rediss+cluster'],
  form: 'redis+cluster://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]…]',
  port: 6_379,
  several: true,
  path: /^$/,
  pathText: 'nothing may follow the nodes: a Redis Cluster has database 0 only',
};

const POSTGRES: EngineForm = {
  schemes: ['postgres', 'postgresql'],
  form: 'postgres://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]…]/DATABASE[?sslmode=disable|require|verify-full]',
  port: 5_432,
  several: true,
  path: /^[^/\p{Cc}]{1,63}$/u,
  pathText: 'a database is named behind the hosts: /DATABASE',
  options: { sslmode: ['disable', 'require', 'verify-full'] },
};

const ETCD: EngineForm = {
  schemes: ['etcd', 'etcds'],
  form: 'etcd://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]…], or etcds:// for TLS',
  port: 2_379,
  several: true,
  path: /^$/,
  pathText: 'nothing may follow the hosts',
};

/** Of `store`, and of `registry`. */
export const STORE_FORMS: readonly EngineForm[] = [SENTINEL, REDIS_CLUSTER, POSTGRES];
/** Of `registry` alone. */
export const REGISTRY_FORMS: readonly EngineForm[] = [ETCD, ZOOKEEPER];
