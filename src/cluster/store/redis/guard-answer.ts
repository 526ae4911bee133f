/** The guard as scripts answer it. */
import type { Guard } from '../cluster-store.js';
import { FIELDS } from './scripts.js';

export interface StoredGuard extends Guard {
  readonly rows: number;
  readonly generation: string;
  /** A batch counts of which pieces have still to be done. */
  readonly hasRedo: boolean;
}

/** @param answer values of {@link FIELDS}, null where there is none */
export function guardOf(partition: number, answer: unknown): StoredGuard {
  const values = Array.isArray(answer) ? answer : [];
  const text = (field: (typeof FIELDS)[number]): string => {
    const value: unknown = values[FIELDS.indexOf(field)];
    return typeof value === 'string' ? value : '';
  };
  return {
    partition,
    owner: text('owner'),
    epoch: Number(text('epoch')),
    member: text('member'),
    seq: Number(text('seq')),
    at: Number(text('at')),
    floor: Number(text('floor')),
    format: Number(text('format')),
    rows: Number(text('rows')),
    generation: text('generation'),
    hasRedo: text('redo') !== '',
  };
}

/** Without what only this engine knows. */
export function plainGuard({ partition, owner, epoch, member, seq, at, floor, format }: StoredGuard): Guard {
  return { partition, owner, epoch, member, seq, at, floor, format };
}
