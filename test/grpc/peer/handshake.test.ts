/** Who may link itself to a sidecar. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EndReason, Lane, LinkRequest, LinkResponse, type Open } from '../../../src/grpc/gen/keyturn/peer/v1/peer.js';
import type { DialedStream } from '../../../src/grpc/peer/dial.js';
import { commonVersion, proofOf } from '../../../src/grpc/peer/handshake.js';
import { HomeStream } from '../../../src/grpc/peer/home-stream.js';
import { FakeClock } from '../../support/fake-clock.js';
import { LinkStage } from './link-stage.js';
import { GATEWAY, HOME, SECRET } from './pipe.js';

const OPEN: Open = {
  oldest: 1,
  newest: 1,
  program: '1.0.0',
  home: HOME,
  gateway: GATEWAY,
  link: Buffer.alloc(16, 1),
  lane: Lane.LANE_SMALL,
  nonce: Buffer.alloc(32, 2),
  received: 0n,
  before: undefined,
  resumes: false,
};
const EMPTY = LinkRequest.decode(new Uint8Array(0));

/** A home at which a stranger knocks. */
class Knock {
  readonly clock = new FakeClock();
  readonly answers: LinkResponse[] = [];
  isOver = false;
  admitted = 0;
  readonly stream: HomeStream;

  constructor() {
    const stream: DialedStream = {
      send: (bytes) => void this.answers.push(LinkResponse.decode(bytes)),
      end: () => {
        this.isOver = true;
      },
    };
    const context = { scheduler: this.clock, secret: SECRET, incarnation: HOME, version: '1.0.0' };
    this.stream = new HomeStream(stream, context, {
      admit: () => {
        this.admitted += 1;
        return { host: { message: () => undefined, ended: () => undefined }, received: 0, begin: () => undefined };
      },
      refused: () => undefined,
      over: () => undefined,
    });
  }

  say(message: Partial<LinkRequest>): this {
    this.stream.message(Buffer.from(LinkRequest.encode({ ...EMPTY, ...message }).finish()));
    return this;
  }

  prove(open: Open, secret = SECRET): this {
    const challenge = this.answers.at(-1)?.challenge;
    assert.ok(challenge !== undefined, 'challenged');
    return this.say({ proof: { proof: proofOf('gateway', secret, open, challenge) } });
  }

  get end(): string {
    const end = this.answers.at(-1)?.end;
    return end === undefined ? 'not ended' : `${EndReason[end.reason]}: ${end.message}`;
  }
}

describe('S293: a link is for sidecars of one cluster', () => {
  it('who knows the secret is let in, and nobody says it', () => {
    const knock = new Knock().say({ open: OPEN }).prove(OPEN);
    assert.equal(knock.admitted, 1);
    assert.ok(knock.answers.at(-1)?.ready !== undefined);
    const said = Buffer.concat(knock.answers.map((answer) => Buffer.from(LinkResponse.encode(answer).finish())));
    assert.ok(!said.includes(SECRET));
  });

  const wrong: readonly [string, (knock: Knock) => void, RegExp][] = [
    ['another secret', (knock) => knock.say({ open: OPEN }).prove(OPEN, 'another'), /WRONG_SECRET.*another one/],
    [
      'the proof of the home sent back',
      (knock) => {
        knock.say({ open: OPEN });
        knock.say({ proof: { proof: knock.answers[0]?.challenge?.proof ?? Buffer.alloc(0) } });
      },
      /WRONG_SECRET/,
    ],
    [
      'a proof for the other lane',
      (knock) => knock.say({ open: OPEN }).prove({ ...OPEN, lane: Lane.LANE_LARGE }),
      /WRONG_SECRET/,
    ],
    [
      'a proof for another gateway',
      (knock) => knock.say({ open: OPEN }).prove({ ...OPEN, gateway: 'x' }),
      /WRONG_SECRET/,
    ],
    ['an empty proof', (knock) => knock.say({ open: OPEN }).say({ proof: { proof: Buffer.alloc(0) } }), /WRONG_SECRET/],
    [
      'another incarnation',
      (knock) => knock.say({ open: { ...OPEN, home: 'earlier' } }),
      /WRONG_INCARNATION: the sidecar at this address is the incarnation incarnation-of-the-home, not "earlier"/,
    ],
    [
      'a newer protocol alone',
      (knock) => knock.say({ open: { ...OPEN, oldest: 2, newest: 3 } }),
      /NO_COMMON_VERSION: this sidecar speaks the versions 1 to 1 of the link, the gateway 2 to 3: upgrade one release/,
    ],
    ['a short nonce', (knock) => knock.say({ open: { ...OPEN, nonce: Buffer.alloc(8) } }), /MALFORMED.*nonce/],
    ['no lane', (knock) => knock.say({ open: { ...OPEN, lane: Lane.LANE_UNSPECIFIED } }), /MALFORMED.*lane 0/],
    ['a short id', (knock) => knock.say({ open: { ...OPEN, link: Buffer.alloc(1) } }), /MALFORMED.*id of the link/],
    ['a proof first', (knock) => knock.say({ proof: { proof: Buffer.alloc(32) } }), /MALFORMED.*another message/],
    ['two opens', (knock) => knock.say({ open: OPEN }).say({ open: OPEN }), /MALFORMED.*another message/],
    ['a call', (knock) => knock.say({ number: 1n, calls: [] }), /MALFORMED/],
    ['bytes of nothing', (knock) => knock.stream.message(Buffer.from([0xff, 0xff, 0xff])), /MALFORMED/],
    [
      'too long an open',
      (knock) => knock.say({ open: { ...OPEN, program: 'x'.repeat(5_000) } }),
      /MALFORMED.*bytes in a handshake/,
    ],
  ];
  for (const [what, knocks, says] of wrong) {
    it(`is refused: ${what}`, () => {
      const knock = new Knock();
      knocks(knock);
      assert.match(knock.end, says);
      assert.ok(knock.isOver);
      assert.equal(knock.admitted, 0);
    });
  }

  it('who does not go on is turned away', () => {
    const knock = new Knock().say({ open: OPEN });
    knock.clock.advance(3_000);
    assert.match(knock.end, /not finished within 3000 ms/);
  });

  it('a gateway finds out that a home does not know the secret, and says why it has no link', () => {
    const stage = new LinkStage({}, { secret: 'of another cluster' });
    stage.advance(5_000);
    const refused = stage.worker.enQueue();
    assert.equal(refused.refusal.kind, 'no_home');
    assert.match(
      JSON.stringify(refused.refusal),
      /does not know the secret of this cluster: it belongs to another one/,
    );
    assert.equal(new Set(stage.linked.problems).size, 1);
    // Pauses are drawn by chance, so it may be a dozen; without them there would be hundreds.
    assert.ok(stage.linked.pipes.length < 40, `${stage.linked.pipes.length} tries in 5 s`);
  });

  it('two versions speak the newest that both know', () => {
    assert.equal(commonVersion({ oldest: 1, newest: 1 }), 1);
    assert.equal(commonVersion({ oldest: 1, newest: 2 }), 1);
    assert.equal(commonVersion({ oldest: 0, newest: 9 }), 1);
    assert.equal(commonVersion({ oldest: 2, newest: 2 }), undefined);
    assert.equal(commonVersion({ oldest: 0, newest: 0 }), undefined);
  });
});
