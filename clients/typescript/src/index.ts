/** `@keyturn/client`: the client of Keyturn. */

export { connect, type Keyturn } from './client.js';
export type { PemSource, TlsOptions } from './connection/tls-options.js';
export type { TokenSource } from './connection/token.js';
export { type Consumer, ConsumerStoppedError, type StopOptions } from './consume/consumer.js';
export type { ConsumeOptions, Stage, Trouble, Work, WorkHandler } from './consume/options.js';
export {
  DeadLetter,
  Done,
  type DoneOptions,
  done,
  type FollowUp,
  type GivenBackOptions,
  Release,
  RetryLater,
} from './consume/verdict.js';
export type { HeldKey, TurnHandler, TurnOutcome, WithTurnOptions } from './consume/with-turn.js';
export type { Leadership } from './lead/leadership.js';
export type { LeaderCareer, LeaderWork, LeadOptions, Left } from './lead/options.js';
export { HandOverAsked, TermLostError } from './lead/term-lost.js';
export type { KeyturnOptions } from './options.js';
export type { ProducerErrorHandler, ProducerOptions, ProducerResult, SpoolOptions } from './produce/options.js';
export type { Producer } from './produce/producer.js';
export { ProducerClosedError, ProducerFullError, ProducerTimeoutError } from './produce/producer-error.js';
export { type FailedState, ItemFailedError, type ResultOptions } from './produce/results.js';
export { SpoolError, type SpoolProblem } from './produce/spool/spool-error.js';
export { SubmitManyError, type SubmitOptions } from './produce/submit.js';
export type { Clock } from './time/clock.js';
export type * from './words/admin-words.js';
export type { CallSettings, Calls, HeldTurn, Transport, Turns } from './words/calls.js';
export type * from './words/dead-letter-words.js';
export {
  type ErrorDetails,
  type FieldViolation,
  KeyturnError,
  PermissionDeniedError,
  TlsError,
  type TurnLoss,
  TurnLostError,
  UnauthenticatedError,
} from './words/errors.js';
export type { GetItemCall, ItemReport } from './words/item-report.js';
export type {
  GroupInfo,
  HandOverReason,
  LeaderInfo,
  LeaderPhase,
  Predecessor,
  TermLoss,
} from './words/leader-words.js';
export type { LogDetails, Logger } from './words/logger.js';
export type { Metrics } from './words/metrics.js';
export type { RightView, ServerInfo } from './words/server-view.js';
export type { ListSessionsCall, SessionInfo, SessionPage } from './words/session-view.js';
export type { OpenTelemetryApi, TracingOptions } from './words/tracing.js';
export { VERSION } from './words/version.js';
export type * from './words/worker-words.js';
export { DURABILITIES } from './words/worker-words.js';
