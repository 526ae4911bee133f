import assert from 'node:assert/strict';
import type { Refusal } from '../../src/coordinator.js';

/** Refused for a limit: which one, and its bound, in the words of the settings. */
export function full(refusal: Refusal, kind: Refusal['kind'], subject: string, limit: number): void {
  assert.deepEqual({ ...refusal, description: '' }, { kind, subject, limit, description: '', retryAfter: 1_000 });
  assert.match('description' in refusal ? refusal.description : '', new RegExp(String(limit)));
}
