/** The record of a cluster as it is written: JSON. */
import type { ClusterRecord } from './cluster-store.js';

/** @returns undefined: it is no record, of whoever wrote it */
export function recordOf(text: unknown): ClusterRecord | undefined {
  if (typeof text !== 'string') return undefined;
  try {
    const record: unknown = JSON.parse(text);
    return isRecord(record) ? record : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is ClusterRecord {
  if (typeof value !== 'object' || value === null) return false;
  const { id, partitions, secret, version, routes, revision, format, pins, rerouting, registry } = {
    id: 0,
    partitions: 0,
    secret: 0,
    version: 0,
    routes: 0,
    revision: undefined,
    format: undefined,
    pins: undefined,
    rerouting: undefined,
    registry: undefined,
    ...value,
  };
  return (
    typeof id === 'string' &&
    typeof partitions === 'number' &&
    typeof secret === 'string' &&
    typeof version === 'number' &&
    typeof routes === 'object' &&
    routes !== null &&
    (revision === undefined || typeof revision === 'number') &&
    (format === undefined || typeof format === 'number') &&
    (registry === undefined || typeof registry === 'string') &&
    (pins === undefined || arePins(pins)) &&
    (rerouting === undefined || isRerouting(rerouting))
  );
}

function arePins(pins: unknown): boolean {
  if (typeof pins !== 'object' || pins === null) return false;
  return Object.values(pins).every((pin: unknown) => {
    if (typeof pin !== 'object' || pin === null) return false;
    const { name, address, at } = { name: 0, address: undefined, at: 0, ...pin };
    return typeof name === 'string' && (address === undefined || typeof address === 'string') && typeof at === 'number';
  });
}

function isRerouting(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { queue, group, spread, at, acceptLoss } = { queue: 0, group: 0, spread: '', at: '', acceptLoss: 0, ...value };
  const isPlace = typeof queue === 'string' && typeof group === 'string' && typeof spread === 'number';
  return isPlace && typeof at === 'number' && typeof acceptLoss === 'boolean';
}
