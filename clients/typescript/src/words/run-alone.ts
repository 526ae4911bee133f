import { messageOf } from './failure.js';

/**
 * Runs a callback of the application. An error that it throws, or that its promise rejects with, ends nothing here.
 *
 * @param report gets that error; unset: it is a warning of the process
 */
export function runAlone(callback: () => unknown, report: (error: unknown) => void = warn): void {
  try {
    const result = callback();
    if (result instanceof Promise) result.catch(report);
  } catch (thrown) {
    report(thrown);
  }
}

function warn(error: unknown): void {
  process.emitWarning(`keyturn: a callback of the application threw: ${messageOf(error)}`, 'KeyturnWarning');
}
