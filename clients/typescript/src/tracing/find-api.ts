/** The API of OpenTelemetry is an optional peer: who does not have it notices nothing. */
import { createRequire } from 'node:module';
import { wrongSetting } from '../words/option-checks.js';
import type { OpenTelemetryApi, TracingOptions } from '../words/tracing.js';
import { shown } from '../words/values.js';

const PACKAGE = '@opentelemetry/api';
const NAMES = ['parent', 'key', 'api'];

/**
 * Synchronous, because `connect` is: the package has a form for `require`, which shares its global state with every other
 * copy of it. A bundle of CommonJS has no `from`; an application in a bundle hands the API over.
 *
 * @param from the file for which it is looked for
 * @returns undefined when it is not there
 */
export function findApi(from: string | undefined = import.meta.url): OpenTelemetryApi | undefined {
  if (!from) return undefined;
  try {
    const found: unknown = createRequire(from)(PACKAGE);
    return isApi(found) ? found : undefined;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

/** @throws KeyturnError (INVALID_ARGUMENT) naming what is wrong */
export function checkTracing(tracing: boolean | TracingOptions | undefined): void {
  if (tracing === undefined || typeof tracing === 'boolean') return;
  if (typeof tracing !== 'object' || tracing === null || Array.isArray(tracing))
    throw wrongSetting(`tracing: ${shown(tracing)} is not allowed; true, false or an object of ${NAMES.join(', ')} is`);
  const unknown = Object.keys(tracing).find((name) => !NAMES.includes(name));
  if (unknown !== undefined)
    throw wrongSetting(`tracing.${unknown}: there is no such option; there are ${NAMES.join(', ')}`);
  for (const name of ['parent', 'key'] as const) {
    const value: unknown = tracing[name];
    if (value !== undefined && typeof value !== 'boolean')
      throw wrongSetting(`tracing.${name}: ${shown(value)} is not allowed; true or false is`);
  }
  if (tracing.api !== undefined && !isApi(tracing.api))
    throw wrongSetting(`tracing.api: ${shown(tracing.api)} is not allowed; the module ${PACKAGE}, version 1, is`);
}

const METHODS: Readonly<Record<'trace' | 'context', readonly string[]>> = {
  trace: ['getTracerProvider', 'getSpanContext', 'setSpan', 'setSpanContext'],
  context: ['active', 'with'],
};

function isApi(found: unknown): found is OpenTelemetryApi {
  if (!isObject(found) || typeof found['createTraceState'] !== 'function') return false;
  return (['trace', 'context'] as const).every((part) => {
    const methods = found[part];
    return isObject(methods) && METHODS[part].every((name) => typeof methods[name] === 'function');
  });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
