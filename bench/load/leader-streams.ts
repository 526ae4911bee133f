/** Many leaders on a few raw streams, which say that they live when they are asked to. */
import { type ClientDuplexStream, credentials } from '@grpc/grpc-js';
import type { LeadCommand, LeadRequest, LeadResponse } from '../../src/grpc/gen/keyturn/v1/leader.js';
import { LeaderServiceClient } from '../../src/grpc/gen/keyturn/v1/leader.js';

type Command = NonNullable<LeadCommand['command']>;
type Call = ClientDuplexStream<LeadRequest, LeadResponse>;

/** Of a message. */
const COMMANDS = 1_000;
/** A sidecar that starts without data gives no term before it is over: somebody may lead still. */
const TTL_S = 5n;

export class LeaderStreams {
  readonly #calls: readonly Call[];
  /** By stream and candidacy. */
  readonly #terms: readonly Map<number, bigint>[];
  #kept = 0;
  #wanted = 0;
  #isThere: () => void = () => undefined;

  private constructor(
    private readonly client: LeaderServiceClient,
    streams: number,
  ) {
    this.#calls = Array.from({ length: streams }, () => client.lead());
    this.#terms = this.#calls.map(() => new Map<number, bigint>());
  }

  /** Each stream has {@link COMMANDS} leaders, of a group each. Resolves when all execute. */
  static async start(address: string, streams: number): Promise<LeaderStreams> {
    const made = new LeaderStreams(new LeaderServiceClient(address, credentials.createInsecure()), streams);
    const heard = made.#heard(streams * COMMANDS);
    for (const [at, call] of made.#calls.entries()) made.#stand(call, at);
    await heard;
    return made;
  }

  /** All say at once that they live. Resolves when each has heard that it was counted. */
  async beat(): Promise<void> {
    const heard = this.#heard(this.#calls.length * COMMANDS);
    for (const [at, call] of this.#calls.entries()) {
      const alive = [...(this.#terms[at] ?? [])].map(([id, term]) => said(id, { $case: 'alive', value: { term } }));
      call.write({ commands: alive });
    }
    await heard;
  }

  close(): void {
    for (const call of this.#calls) call.cancel();
    this.client.close();
  }

  #stand(call: Call, stream: number): void {
    call.on('error', () => undefined);
    call.on('data', ({ news }: LeadResponse) => {
      for (const { candidacy, news: one } of news) {
        if (one?.$case === 'inaugurate') {
          this.#terms[stream]?.set(candidacy, one.value.term);
          const { term } = one.value;
          call.write({ commands: [said(candidacy, { $case: 'inaugurated', value: { term } })] });
        } else if (one?.$case === 'execute' || one?.$case === 'kept') this.#count();
      }
    });
    const ttl = { seconds: TTL_S, nanos: 0 };
    const of = { candidateId: 'bench', ttl, inaugurateTimeout: ttl, handOverTimeout: undefined, term: 0n };
    const commands = Array.from({ length: COMMANDS }, (_, at) =>
      said(at, {
        $case: 'stand',
        value: { ...of, group: `bench-${stream}-${at}`, metadata: new Map<string, string>() },
      }),
    );
    call.write({ commands });
  }

  #heard(times: number): Promise<void> {
    this.#kept = 0;
    this.#wanted = times;
    return new Promise((resolve) => {
      this.#isThere = resolve;
    });
  }

  #count(): void {
    this.#kept += 1;
    if (this.#kept === this.#wanted) this.#isThere();
  }
}

function said(candidacy: number, command: Command): LeadCommand {
  return { candidacy, command };
}
