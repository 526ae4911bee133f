/** How the record of the cluster is changed: read, changed, written over what was read, and again when another one was faster. */

import { JournalError } from '../../local/journal/journal.js';
import type { ClusterRecord, ClusterStore } from './cluster-store.js';

/** Others are as fast a few times, not always. */
const TRIES = 20;

/** Of a record: of the one that the first member wrote it is the version of its routes. */
export function revisionOf({ revision, version }: Pick<ClusterRecord, 'revision' | 'version'>): number {
  return revision ?? version;
}

/**
 * @param change to the record that it is given, which may be called several times; unset: it is as it should be
 * @returns the record as it stands then; unset: there is none
 * @throws JournalError
 */
export async function amend(
  store: Pick<ClusterStore, 'changeRecord' | 'look'>,
  change: (record: ClusterRecord, revision: number) => ClusterRecord | undefined,
): Promise<ClusterRecord | undefined> {
  for (let tries = 1; ; tries += 1) {
    const { record } = await store.look(0);
    if (record === undefined) return undefined;
    const before = revisionOf(record);
    const changed = change(record, before + 1);
    if (changed === undefined) return record;
    const next = { ...changed, revision: before + 1 };
    if (await store.changeRecord(before, next)) return next;
    if (tries === TRIES)
      throw new JournalError(
        'io',
        `the record of the cluster was changed by others ${TRIES} times meanwhile; try again`,
      );
  }
}
