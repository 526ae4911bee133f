/** What was refused before a call reached the API, as the Connect protocol says it. */
import type { ServerResponse } from 'node:http';
import type { Refusal } from '../coordinator.js';
import { codeName, detailsOf, statusOf } from '../grpc/call/status.js';
import { tellJson } from './headers.js';

export function tellRefusal(response: ServerResponse, httpStatus: number, refusal: Refusal): void {
  const status = statusOf(refusal);
  const details = detailsOf(status).map(({ type, value }) => ({ type, value: Buffer.from(value).toString('base64') }));
  tellJson(response, httpStatus, { code: codeName(status.code).toLowerCase(), message: status.details, details });
}

/** By whom a call was made was refused, not what it asks. */
export function tellForeign(response: ServerResponse, message: string): void {
  tellJson(response, 403, { code: 'permission_denied', message });
}
