/** The same contract over the journal in LMDB: what its rows are made of must be enough. */
import { after } from 'node:test';
import { LmdbBridge } from '../support/lmdb-bridge.js';
import { describeCoordinator } from './coordinator-contract.js';
import { durableSubject } from './durable-subject.js';

const bridge = new LmdbBridge();
after(() => bridge.end());

describeCoordinator(
  'LocalCoordinator, all queues durable in LMDB,',
  durableSubject(() => bridge.open()),
  'on disk',
  'alone',
  // Over a journal in memory they come by every way. Rows of tied turns are those of the contract of sessions, too.
  'unary calls',
);
