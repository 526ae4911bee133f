/** A worker as a process of its own, for tests that kill it, stop it or set its clock. */
import { monotonicNow, type Plan } from './plan.js';
import { performAll } from './plays.js';

// The test that started us made it of plans.
const plans = JSON.parse(process.env['PLANS'] ?? '') as readonly Plan[];
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());

await performAll(
  plans,
  (saying) => void process.stdout.write(`${JSON.stringify({ at: monotonicNow(), ...saying })}\n`),
  stop.signal,
);
