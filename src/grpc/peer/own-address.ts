/** Whether an address leads to this sidecar: the first message of a link, and the answer to it. */
import { randomBytes } from 'node:crypto';
import { EndReason, Lane, LinkRequest, LinkResponse, type Open } from '../gen/keyturn/peer/v1/peer.js';
import type { Certificates } from '../server/tls-credentials.js';
import type { Scheduler } from '../session/flow.js';
import type { Dial } from './dial.js';
import { HANDSHAKE_WITHIN, isProof, NEWEST, nonce, OLDEST, proofOf } from './handshake.js';
import { grpcDial, SCHEDULER } from './transport.js';

interface OwnAddressOptions {
  /** Set: TLS only. */
  readonly certificates?: (() => Certificates) | undefined;
  /** Of the cluster's record. */
  readonly secret: string;
  /** Of this process, as its peer server has it now. */
  readonly incarnation: string;
  /** Of the program. */
  readonly version: string;
}

/** `unknown`: nobody gave an answer of a sidecar. `why` is for people. */
export type AnsweredAt =
  | { readonly is: 'own' }
  | { readonly is: 'another'; readonly why: string }
  | { readonly is: 'unknown'; readonly why: string };

const LINK_ID_BYTES = 16;

export function whoAnswersAt(address: string, options: OwnAddressOptions): Promise<AnsweredAt> {
  return ask(address, options, grpcDial(options.certificates), SCHEDULER);
}

/** No link begins: the stream ends before its proof. */
function ask(
  address: string,
  { secret, incarnation, version }: OwnAddressOptions,
  dial: Dial,
  scheduler: Scheduler,
): Promise<AnsweredAt> {
  const open = openFor(incarnation, version);
  return new Promise((resolve) => {
    let end = (): void => undefined;
    const answered = (answer: AnsweredAt): void => {
      callOff();
      end();
      resolve(answer);
    };
    const unknown = (why: string) => answered({ is: 'unknown', why });
    const callOff = scheduler.after(HANDSHAKE_WITHIN, () => unknown(`no answer within ${HANDSHAKE_WITHIN} ms`));
    const stream = dial(address, {
      message: (bytes) => answered(answerOf(bytes, open, secret)),
      ended: unknown,
    });
    end = () => stream.end();
    stream.send(Buffer.from(LinkRequest.encode({ ...EMPTY, open }).finish()), () => undefined);
  });
}

function answerOf(bytes: Buffer, open: Open, secret: string): AnsweredAt {
  try {
    const { challenge, end } = LinkResponse.decode(bytes);
    if (end?.reason === EndReason.END_REASON_WRONG_INCARNATION) return { is: 'another', why: end.message };
    if (challenge === undefined) return { is: 'unknown', why: end?.message ?? 'the answer is none of a sidecar' };
    if (isProof(challenge.proof, proofOf('home', secret, open, challenge))) return { is: 'own' };
    return { is: 'another', why: 'the sidecar at this address belongs to another cluster' };
  } catch (error) {
    return { is: 'unknown', why: `the answer is none of a sidecar: ${String(error)}` };
  }
}

function openFor(incarnation: string, program: string): Open {
  return {
    oldest: OLDEST,
    newest: NEWEST,
    program,
    home: incarnation,
    gateway: incarnation,
    link: randomBytes(LINK_ID_BYTES),
    lane: Lane.LANE_SMALL,
    nonce: nonce(),
    received: 0n,
    before: undefined,
    resumes: false,
  };
}

const EMPTY: LinkRequest = LinkRequest.decode(new Uint8Array(0));
