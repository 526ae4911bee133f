/** Pins: which member a person wants as the home of a partition, and what is said about that. */
import type { Member } from '../registry/registry.js';
import type { ClusterRecord, Pin } from '../store/cluster-store.js';

/** By partition. */
export type Pins = ReadonlyMap<number, Pin>;

/** So much of an id is enough to name a member. */
const LEAST_OF_ID = 4;
/** Ids are long: people are shown the beginning, as `keyturn cluster` does. */
const SHORT_ID = 8;
/** Names that an answer lists. */
const MOST_NAMED = 20;

export function pinsOf(record: Pick<ClusterRecord, 'pins' | 'partitions'>): Pins {
  const pins = new Map<number, Pin>();
  for (const [partition, pin] of Object.entries(record.pins ?? {})) {
    const number = Number(partition);
    if (Number.isInteger(number) && number >= 0 && number < record.partitions) pins.set(number, pin);
  }
  return pins;
}

/** Unset `pin`: it has none then. */
export function withPin(record: ClusterRecord, partition: number, pin: Pin | undefined): ClusterRecord {
  const pins = { ...record.pins };
  if (pin === undefined) delete pins[partition];
  else pins[partition] = pin;
  return { ...record, pins };
}

export function fitsPin({ name, address }: Pin, member: Pick<Member, 'name' | 'address'>): boolean {
  return member.name === name && (address === undefined || member.address === address);
}

export function pinText({ name, address }: Pin): string {
  return address === undefined ? name : `${name} at ${address}`;
}

type Named =
  | { readonly member: Member; readonly pin: Omit<Pin, 'at'> }
  /** What is wrong, and what there is. */
  | { readonly why: string };

/**
 * The member that a person names: by its id, the beginning of it, or its name. A pin says the name, which is there again when the
 * process starts anew; where several have that name, the address as well.
 */
export function memberNamed(said: string, members: readonly Member[]): Named {
  const exact = members.filter(({ id }) => id === said);
  const named = members.filter(({ name }) => name === said);
  const begun = said.length < LEAST_OF_ID ? [] : members.filter(({ id }) => id.startsWith(said));
  const found = [exact, named, begun].find(({ length }) => length > 0) ?? [];
  const [member] = found;
  if (member === undefined) return { why: `there is no member ${JSON.stringify(said)}; ${told(members)}` };
  if (found.length > 1)
    return { why: `${JSON.stringify(said)} is ambiguous; say the id, or 4 characters or more of it: ${list(found)}` };
  const { name, address } = member;
  const isOnly = members.every((other) => other === member || other.name !== name);
  return { member, pin: isOnly ? { name } : { name, address } };
}

/** Why this member cannot be the home of a partition whose rows have that format; unset: it can. */
export function whyNotHome({ name, id, weight, isLeaving, version, format }: Member, rows: number): string | undefined {
  const who = `${name} ${id.slice(0, SHORT_ID)}`;
  if (weight <= 0) return `${who} is a gateway (weight 0), and owns nothing`;
  if (isLeaving) return `${who} is leaving`;
  if (format < rows)
    return `${who} (version ${version}) reads rows up to format ${format}, and these have format ${rows}`;
  return undefined;
}

function list(members: readonly Member[]): string {
  const names = members.slice(0, MOST_NAMED).map(({ name, id }) => `${name} ${id.slice(0, SHORT_ID)}`);
  const more = members.length - names.length;
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ');
}

function told(members: readonly Member[]): string {
  if (members.length === 0) return 'there is none at all';
  return `there are ${list(members)} (sidecars of weight 0 own nothing and are not among them)`;
}
