import type {
  AdminAnswer,
  Administration,
  AdminKind,
  AdminRequest,
  Refusal,
  Result,
  Watch,
  Watcher,
} from '../../coordinator.js';
import { adminRequest, formOf } from './codec/admin.js';
import { writeAdminCall } from './codec/entries.js';
import { fromBytes } from './codec/shapes.js';
import type { WireReader } from './codec/wire-reader.js';
import type { Lane } from './lane.js';
import type { Life, OpenEntry } from './life.js';
import type { Link } from './link.js';
import { noAnswer, noHome, unknownOutcome } from './refusals.js';
import { RemoteWatch } from './remote-watch.js';

/** ms. What changes something may have much to change; who only looks waits for less by itself (S260). */
const ANSWER_WITHIN = 60_000;

/** The calls of operators, for one partition of another sidecar. */
export class RemoteAdministration implements Administration {
  constructor(
    private readonly link: Link,
    private readonly partition: number,
  ) {}

  async ask<K extends AdminKind>(kind: K, request: AdminRequest<K>, by = ''): Promise<Result<AdminAnswer<K>>> {
    const life = this.#life();
    if (!life.ok) return life;
    const form = formOf(kind, request);
    const answered = await new Promise<Result<Buffer>>((resolve) => {
      const call = new AdminCall(life.value, { partition: this.partition, principal: by }, resolve);
      const late = noAnswer(this.link.address, ANSWER_WITHIN);
      call.callOff = this.link.scheduler.after(ANSWER_WITHIN, () => call.giveUp(late));
      call.begin(adminRequest(form, request));
    });
    return answered.ok ? { ok: true, value: fromBytes(form.answer, answered.value) } : answered;
  }

  watch(queue: string | undefined, key: string | undefined, watcher: Watcher, by = ''): Result<Watch> {
    const life = this.#life();
    if (!life.ok) return life;
    const watch = new RemoteWatch(life.value, watcher, (error) => this.link.report(error));
    watch.begin(this.partition, { queue, key, principal: by });
    return watch.refusal === undefined ? { ok: true, value: watch } : { ok: false, refusal: watch.refusal };
  }

  #life(): Result<Life> {
    const { life } = this.link;
    const refusal = life === undefined ? noHome(this.partition, this.link.why) : life.full;
    if (life !== undefined && refusal === undefined) return { ok: true, value: life };
    return { ok: false, refusal: refusal ?? noHome(this.partition, this.link.why) };
  }
}

class AdminCall implements OpenEntry {
  lane: Lane;
  message = 0;
  /** Called when it is over. */
  callOff: () => void = () => undefined;
  #id = 0;
  #isOver = false;

  constructor(
    private readonly life: Life,
    private readonly asked: { readonly partition: number; readonly principal: string },
    private readonly resolve: (result: Result<Buffer>) => void,
  ) {
    this.lane = life.small;
  }

  begin(request: Uint8Array): void {
    this.#id = this.life.keep(this);
    const { partition, principal } = this.asked;
    this.lane = this.life.write(this.life.small, (out) =>
      writeAdminCall(out, { id: this.#id, partition, request, principal }),
    );
    this.message = this.lane.gathering;
    this.lane.schedule();
  }

  giveUp(refusal: Refusal): void {
    this.life.forget(this.#id);
    this.#end({ ok: false, refusal });
  }

  answered(_outcome: number, _from: WireReader): void {
    throw new RangeError('an answer of a worker to a call of administration');
  }

  refused(refusal: Refusal): void {
    this.#end({ ok: false, refusal });
  }

  told(bytes: Buffer): void {
    // Its message may be gone when this is read.
    this.#end({ ok: true, value: Buffer.from(bytes) });
  }

  lost(wasSent: boolean): void {
    const gone = 'the link to its home broke before the call was sent';
    this.refused(wasSent ? unknownOutcome(this.life.address) : noHome(this.asked.partition, gone));
  }

  #end(result: Result<Buffer>): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.callOff();
    this.resolve(result);
  }
}
