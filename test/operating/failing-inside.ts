/** Loaded before a sidecar (`node --import`): ExplainKey of one key fails inside, so that an alert has something to tell. */
import { LocalAdministration } from '../../src/local/administration.js';

export const FAILING_KEY = 'fails inside';

const original = LocalAdministration.prototype.ask;

LocalAdministration.prototype.ask = function ask(kind, request, ...rest) {
  if (kind === 'explainKey' && 'key' in request && request.key === FAILING_KEY)
    return Promise.reject(new Error('brought about by the rehearsal of the alerts'));
  return original.call(this, kind, request, ...rest);
};
