/** `@keyturn/client`: the client of Keyturn. */
export type * from './admin-words.js';
export type { CallSettings, Calls, HeldTurn, Transport, Turns } from './calls.js';
export { connect, Keyturn } from './client.js';
export type { Clock } from './clock.js';
export { type ErrorDetails, type FieldViolation, KeyturnError, type TurnLoss, TurnLostError } from './errors.js';
export type { KeyturnOptions } from './options.js';
export { VERSION } from './version.js';
export type * from './words.js';
