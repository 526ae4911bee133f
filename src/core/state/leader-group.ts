/** What the core knows of leaders. Nothing here decides. */
import {
  type AwaitLeaderRequest,
  type CandidateKnows,
  type CandidateTerms,
  type CandidateView,
  type GroupNumbers,
  type GroupView,
  type HandOverReason,
  type LeaderPhase,
  NO_PREDECESSOR,
  type PredecessorView,
  type TermLossCause,
} from '../contract/leader.js';
import type { Bytes, Reply, SessionStamp } from '../contract/model.js';
import type { Histogram } from '../structures/histogram.js';
import { Timer } from '../structures/timing-wheel.js';

/** A call of a candidate that waits until it stands otherwise than it knows. */
export class StandCall {
  constructor(
    readonly group: LeaderGroup,
    readonly candidate: Candidate,
    readonly reply: Reply<CandidateView>,
    readonly knows: CandidateKnows | undefined,
  ) {}
}

/** A call that waits until somebody else leads. */
export class LeaderCall {
  constructor(
    readonly group: LeaderGroup,
    readonly request: AwaitLeaderRequest,
    readonly reply: Reply<GroupView>,
  ) {}
}

/** A call about a leader that waits. */
export type WaitingLeaderCall = StandCall | LeaderCall;

/** One who stands, or leads. */
export class Candidate {
  /** Unset: it came back from the disk, or was adopted, and has not come itself yet. */
  stamp: SessionStamp | undefined = undefined;
  ttl = 0;
  inaugurateTimeout = 0;
  handOverTimeout = 0;
  metadata: ReadonlyMap<string, string> = NO_METADATA;
  /** Unset: it is absent, or about to ask again. */
  call: StandCall | undefined = undefined;
  /** Without a call: it counts as present until then, because it was answered a moment ago. */
  presentUntil = 0;
  /** Without a call: its place is kept until then. */
  keptUntil = 0;
  /** It lost this term, and has not said that it has stopped: it is passed over. */
  lost: { readonly term: number; readonly cause: TermLossCause } | undefined = undefined;
  /** It leads, and does not stand again. */
  withdrawn = false;

  constructor(readonly id: string) {}

  describe({ ttl, inaugurateTimeout, handOverTimeout, metadata }: CandidateTerms): void {
    this.ttl = ttl;
    this.inaugurateTimeout = inaugurateTimeout;
    this.handOverTimeout = handOverTimeout;
    this.metadata = metadata;
  }
}

const NO_METADATA: ReadonlyMap<string, string> = new Map();

/** The term of a leader. It lives until it is handed over or `leaseEnd` has come. */
export class Term {
  at: LeaderPhase = 'inaugurating';
  /** It was inaugurated. */
  worked = false;
  /** It said that its work failed. */
  failed = false;
  reason: HandOverReason | undefined = undefined;
  /** Of a term that is lost but not over. */
  cause: TermLossCause | undefined = undefined;
  /** It began in a run of which nothing was kept. */
  adopted = false;
  /** Its leader may have begun: it does only when an `alive` was confirmed. True of a term of an earlier run. */
  mayHaveBegun = false;
  constructor(
    readonly token: number,
    readonly candidate: Candidate,
    /** Whole ms. `alive` moves it. */
    public leaseEnd: number,
    /** Whole ms: of the inauguration or of the hand-over. Infinity: there is none in this phase. */
    public deadline: number,
  ) {}
}

/** How often a candidate failed in a row, and until when it is passed over for that. */
export interface BackOff {
  readonly failures: number;
  readonly until: number;
}

const NO_STATE: Bytes = new Uint8Array(0);

/** One group. Its timer fires when something of it is due. */
export class LeaderGroup extends Timer {
  term: Term | undefined = undefined;
  /** The largest term that began since the start, inaugurated or not. */
  latest = 0;
  predecessor: PredecessorView = NO_PREDECESSOR;
  /** What the last hand-over left; counted in `payloadBytes`. */
  state: Bytes = NO_STATE;
  /** When the term began, or the last one ended. */
  since: number;
  /** In the order in which they stand. The leader is not among them. */
  readonly candidates = new Map<string, Candidate>();
  readonly backOffs = new Map<string, BackOff>();
  readonly watchers = new Set<LeaderCall>();
  /** Terms that ended after an inauguration. */
  handedOver = 0;
  lost = 0;
  inaugurationsFailed = 0;
  /** When a leader was last known to live; of a group that never had one, when it was made. */
  livedAt: number;
  /** How long nobody led. Made with the first time: most groups have none. */
  without: Histogram | undefined = undefined;
  /** Made when somebody asks first. */
  numbers: GroupNumbers | undefined = undefined;

  constructor(
    readonly name: string,
    now: number,
  ) {
    super();
    this.since = now;
    this.livedAt = now;
  }

  get kind(): 'leader_group' {
    return 'leader_group';
  }
}

/** All groups, and what is counted over them. */
export class Leaders {
  readonly groups = new Map<string, LeaderGroup>();
  /** Candidates of all groups; leaders are not among them. */
  candidates = 0;
  watchers = 0;
  /** Terms that live. */
  terms = 0;
}
