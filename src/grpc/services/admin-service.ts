/** AdminService: the calls of people. */

import { type Kit, promised } from '../call/handler.js';
import type { OpenStreams } from '../call/streams.js';
import {
  deadLettersResponse,
  discardRequest,
  evictionResponse,
  explanationResponse,
  itemChoice,
  keyName,
  keysResponse,
  limitsChange,
  limitsResponse,
  listDeadLettersRequest,
  listKeysRequest,
  queueName,
  resumptionResponse,
  retryNowRequest,
  retryNowResponse,
} from '../convert/admin.js';
import { listQueuesRequest, queuesResponse } from '../convert/queues.js';
import type { AdminServiceServer } from '../gen/keyturn/v1/admin.js';
import { watchEvents } from './watch-events.js';

export function adminService(kit: Kit, streams: OpenStreams): AdminServiceServer {
  const { admin } = kit.coordinator;
  return {
    listQueues: promised(kit, listQueuesRequest, (request) => admin.listQueues(request), queuesResponse),
    listKeys: promised(kit, listKeysRequest, (request) => admin.listKeys(request), keysResponse),
    explainKey: promised(kit, keyName, ({ queue, key }) => admin.explainKey(queue, key), explanationResponse),
    evictHolder: promised(kit, keyName, ({ queue, key }) => admin.evictHolder(queue, key), evictionResponse),
    retryNow: promised(kit, retryNowRequest, (request) => admin.retryNow(request), retryNowResponse),
    resumeKey: promised(kit, keyName, ({ queue, key }) => admin.resumeKey(queue, key), resumptionResponse),
    pauseQueue: promised(kit, queueName, (queue) => admin.pauseQueue(queue), nothing),
    resumeQueue: promised(kit, queueName, (queue) => admin.resumeQueue(queue), nothing),
    setLimits: promised(kit, limitsChange, ({ queue, change }) => admin.setLimits(queue, change), limitsResponse),
    listDeadLetters: promised(
      kit,
      listDeadLettersRequest,
      (request) => admin.listDeadLetters(request),
      deadLettersResponse,
    ),
    redrive: promised(
      kit,
      itemChoice,
      (choice) => admin.redrive(choice),
      (redriven) => ({ redriven }),
    ),
    discard: promised(
      kit,
      discardRequest,
      ({ choice, waiting }) => admin.discard(choice, waiting),
      (discarded) => ({ discarded }),
    ),
    watchEvents: watchEvents(kit, streams),
  };
}

function nothing(): Record<string, never> {
  return {};
}
