/**
 * A person says that no older version comes back: the format of rows becomes that of the version that is asked, and stands in the
 * record. Who cannot read it does not join from then on. Until then rows are in the newest format that all members read.
 */
import type { FinalizeView, Result } from '../../coordinator.js';
import type { Member, Registry } from '../registry/registry.js';
import { amend } from '../store/amend.js';
import type { ClusterStore } from '../store/cluster-store.js';
import { formatOf } from '../store/format.js';
import { noRecord } from './moving.js';

interface FinalizingOptions {
  readonly store: Pick<ClusterStore, 'changeRecord' | 'look'>;
  readonly registry: Pick<Registry, 'members'>;
  /** Id of the record that this sidecar follows. */
  readonly cluster: string;
  /** The newest format that this version reads and writes. */
  readonly format: number;
}

/** @throws Error of the registry, JournalError */
export async function finalize(options: FinalizingOptions): Promise<Result<FinalizeView>> {
  const { store, registry, cluster, format } = options;
  const older = (await registry.members()).filter((member) => member.format < format);
  let before = 0;
  const record = await amend(store, (now) => {
    if (now.id !== cluster) return undefined;
    before = formatOf(now);
    return before >= format || older.length > 0 ? undefined : { ...now, format };
  });
  if (record?.id !== cluster) return noRecord();
  if (before >= format) return { ok: true, value: { format: before, isChanged: false } };
  const [first] = older;
  return first === undefined ? { ok: true, value: { format, isChanged: true } } : cannotRead(older, format);
}

function cannotRead(older: readonly Member[], format: number): Result<never> {
  const who = older.map(({ name, version, format: reads }) => `${name} (version ${version}, up to format ${reads})`);
  const description = `rows cannot be fixed in format ${format}: ${who.join(', ')} cannot read it; replace these by the newer version first`;
  return { ok: false, refusal: { kind: 'not_possible', because: 'older_members', description } };
}
