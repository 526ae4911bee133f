/** `@keyturn/client`: the client of Keyturn. */
export type * from './admin-words.js';
export type { CallSettings, Calls, HeldTurn, Transport, Turns } from './calls.js';
export { connect, type Keyturn } from './client.js';
export type { Clock } from './clock.js';
export { type Consumer, ConsumerStoppedError, type StopOptions } from './consume/consumer.js';
export type { ConsumeOptions, Stage, Trouble, Work, WorkHandler } from './consume/options.js';
export {
  DeadLetter,
  type FollowUp,
  type GivenBackOptions,
  type Handled,
  type Outcome,
  Release,
  RetryLater,
} from './consume/verdict.js';
export {
  type ErrorDetails,
  type FieldViolation,
  KeyturnError,
  TlsError,
  type TurnLoss,
  TurnLostError,
} from './errors.js';
export type { LogDetails, Logger } from './logger.js';
export type { Metrics } from './metrics.js';
export type { KeyturnOptions } from './options.js';
export type { ProducerErrorHandler, ProducerOptions, ProducerResult, SpoolOptions } from './producer/options.js';
export type { Producer } from './producer/producer.js';
export { ProducerClosedError, ProducerFullError, ProducerTimeoutError } from './producer/producer-error.js';
export { type FailedState, ItemFailedError, type ResultOptions } from './results.js';
export { SpoolError, type SpoolProblem } from './spool/spool-error.js';
export { SubmitManyError, type SubmitOptions } from './submit.js';
export type { PemSource, TlsOptions } from './tls-options.js';
export { VERSION } from './version.js';
export type { HeldKey, TurnHandler, TurnOutcome, WithTurnOptions } from './with-turn.js';
export type * from './words.js';
export { DURABILITIES } from './words.js';
