/**
 * What gateways ask of this home in the name of people, and that changes something: told once for each, as the gateway tells it
 * itself. Who asks is what the gateway says: it has proved that it belongs to the cluster.
 */
import type { Refusal, Reply, Result, YieldView } from '../../coordinator.js';
import { type Audited, adminCallName, auditedFields, fieldsOf, OK } from '../call/audit.js';
import { codeName, statusOf } from '../call/status.js';
import type { ReceivedAsk } from './codec/admin.js';

type Fields = Readonly<Record<string, unknown>>;

export class ServedAudit {
  /** @param from the address of the gateway */
  constructor(
    private readonly audited: Audited | undefined,
    private readonly from: string,
  ) {}

  /** @param result unset: the call failed here */
  asked(who: string, { kind, isChange, message }: ReceivedAsk, result: Result<Uint8Array> | undefined): void {
    if (this.audited === undefined || !isChange) return;
    const call = adminCallName(kind);
    const asked = flat(message);
    if (result === undefined) return this.#tell(who, call, asked, 'INTERNAL', 'it failed; the log says why');
    if (!result.ok) return this.#refused(who, call, asked, result.refusal);
    const answer: unknown = JSON.parse(Buffer.from(result.value).toString());
    this.#tell(who, call, asked, OK, auditedFields(typeof answer === 'number' ? { items: answer } : answer));
  }

  /** A reply that tells what it is given, too. */
  yields(who: string, group: string, reply: Reply<YieldView>): Reply<YieldView> {
    if (this.audited === undefined) return reply;
    const call = 'LeaderService/YieldLeader';
    return {
      answer: (view) => {
        this.#tell(who, call, { group }, OK, auditedFields(view));
        return reply.answer(view);
      },
      refuse: (refusal) => {
        this.#refused(who, call, { group }, refusal);
        reply.refuse(refusal);
      },
    };
  }

  #refused(who: string, call: string, asked: Fields, refusal: Refusal): void {
    const { code, details } = statusOf(refusal);
    this.#tell(who, call, asked, codeName(code), details);
  }

  #tell(who: string, call: string, asked: Fields, outcome: string, told: Fields | string): void {
    const name = who === '' ? undefined : who;
    this.audited?.({ who: name, from: this.from, over: 'link', call, asked: auditedFields(asked), outcome, told });
  }
}

/** By the names that the public call has, as far as it has them. */
function flat(message: unknown): Fields {
  if (typeof message === 'string') return { queue: message };
  const { choice, change, ...rest } = fieldsOf(message);
  return { ...rest, ...fieldsOf(choice), ...fieldsOf(change) };
}
