/** The same contract where everything is kept on a disk, and every answer waits for it. */
import { promptJournal } from '../support/prompt-journal.js';
import { describeCoordinator } from './coordinator-contract.js';
import { durableSubject } from './durable-subject.js';

describeCoordinator(
  'LocalCoordinator, all queues durable,',
  durableSubject(() => promptJournal()),
  'on disk',
);
