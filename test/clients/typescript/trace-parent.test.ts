/** S445, S449: what is written into headers, and read of them, is the same in all languages: one file of cases for their tests. */
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createTraceState } from '@opentelemetry/api';
import { readTraceParent, withTraceParent } from '#client/tracing/trace-parent';
import { ROOT } from '../../project/repository.js';

interface Case {
  readonly what: string;
  readonly flags: number;
  readonly state: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Stamped extends Case {
  readonly padding?: { readonly headers?: number; readonly bytes?: number };
  readonly adds: Readonly<Record<string, string>>;
  readonly drops?: readonly string[];
}

interface Cases {
  readonly span: { readonly traceId: string; readonly spanId: string };
  readonly stamped: readonly Stamped[];
  readonly read: readonly Case[];
  readonly notRead: readonly string[];
}

// A file of this repository; what it lacks fails below.
const CASES = JSON.parse(readFileSync(join(ROOT, 'clients/conformance/tracing.json'), 'utf8')) as Cases;

function headersOf({ headers, padding = {} }: Stamped): Map<string, string> {
  const made = new Map(Object.entries(headers));
  for (let at = 0; at < (padding.headers ?? 0); at++) made.set(`h${at}`, '');
  if (padding.bytes !== undefined) made.set('long', 'x'.repeat(padding.bytes - 'long'.length));
  return made;
}

describe('the context of a trace in headers', () => {
  for (const one of CASES.stamped) {
    it(`written: ${one.what}`, () => {
      const headers = headersOf(one);
      const traceState = one.state === '' ? {} : { traceState: createTraceState(one.state) };
      const stamped = withTraceParent({ headers }, { ...CASES.span, traceFlags: one.flags, ...traceState }).headers;
      const kept = [...headers].filter(([name]) => !one.drops?.includes(name));
      ok(stamped instanceof Map);
      deepStrictEqual(new Map(stamped), new Map([...kept, ...Object.entries(one.adds)]));
    });
  }

  for (const { what, headers, flags, state } of CASES.read) {
    it(`read: ${what}`, () => {
      const read = readTraceParent(new Map(Object.entries(headers)), createTraceState);
      ok(read !== undefined);
      deepStrictEqual([read.traceId, read.spanId, read.traceFlags], [...Object.values(CASES.span), flags]);
      strictEqual(read.traceState?.serialize() ?? '', state);
    });
  }

  for (const wrong of CASES.notRead) {
    it(`not read: ${JSON.stringify(wrong)}`, () => {
      strictEqual(readTraceParent(new Map([['traceparent', wrong]]), createTraceState), undefined);
    });
  }
});
