/** The example of tracing with real processes and a real SDK: what a tracing backend gets of one order with two attempts. */
import { deepStrictEqual, match, notStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { serve } from '../cli/keyturn-process.js';
import { lastFirst } from '../cli/lead/lead-shell.js';
import { ROOT } from '../project/repository.js';
import { type ReceivedSpan, startOtlpReceiver } from '../support/otlp-receiver.js';

const FOLDER = join(ROOT, 'clients/typescript/examples/tracing');
/** SpanKind and SpanStatusCode, as OTLP has them. */
const CONSUMER = 5;
const ERROR = 2;

/** @returns the trace of the order, and all spans */
async function play(t: Parameters<typeof lastFirst>[0], env: NodeJS.ProcessEnv) {
  const cleanup = lastFirst(t);
  const { address } = await serve(cleanup);
  const receiver = await startOtlpReceiver(cleanup);
  const run = async (program: string): Promise<string> => {
    const child = spawn(process.execPath, ['--import', './telemetry.mjs', `${program}.mjs`], {
      cwd: FOLDER,
      env: { ...process.env, ...env, KEYTURN_ADDRESS: address, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    cleanup.after(() => void child.kill('SIGKILL'));
    const exited = once(child, 'exit');
    const said = await text(child.stdout);
    deepStrictEqual(await exited, [0, null]);
    return said;
  };
  const { trace }: { readonly trace: string } = JSON.parse(await run('submit'));
  match(trace, /^[\da-f]{32}$/);
  strictEqual(await run('worker'), 'packed\n');
  const named = (name: string) => receiver.spans.filter((span) => span.name === name);
  const [order] = named('order');
  ok(order);
  const attempts = named('process orders');
  strictEqual(order.traceId, trace);
  deepStrictEqual(
    attempts.map(({ attributes }) => attributes['keyturn.attempt']),
    ['1', '2'],
  );
  return { order, attempts, packs: named('pack') };
}

function looksLikeTwoAttempts([first, second]: readonly ReceivedSpan[], packs: readonly ReceivedSpan[]): void {
  ok(first && second);
  strictEqual(first.kind, CONSUMER);
  deepStrictEqual(
    [first.status.code, first.status.message, first.events, first.attributes['keyturn.outcome']],
    [ERROR, 'the warehouse does not answer', ['exception'], 'retry'],
  );
  deepStrictEqual([second.status.code ?? 0, second.events, second.attributes['keyturn.outcome']], [0, [], 'ack']);
  deepStrictEqual(
    [second.attributes['messaging.message.id'], second.attributes['messaging.destination.name']],
    ['order-1', 'orders'],
  );
  // What the handler does stands below its attempt.
  deepStrictEqual(
    packs.map(({ parentSpanId }) => parentSpanId),
    [first.spanId, second.spanId],
  );
}

test('each attempt is a trace of its own with a link to the span that took the order', async (t) => {
  const { order, attempts, packs } = await play(t, {});
  looksLikeTwoAttempts(attempts, packs);
  for (const attempt of attempts) {
    deepStrictEqual(attempt.links, [{ traceId: order.traceId, spanId: order.spanId }]);
    notStrictEqual(attempt.traceId, order.traceId);
    strictEqual(attempt.parentSpanId || undefined, undefined);
  }
});

test('with `parent` attempts are children of that span, in its trace', async (t) => {
  const { order, attempts, packs } = await play(t, { TRACE_PARENT: 'yes' });
  looksLikeTwoAttempts(attempts, packs);
  for (const attempt of attempts) {
    deepStrictEqual(attempt.links, []);
    deepStrictEqual([attempt.traceId, attempt.parentSpanId], [order.traceId, order.spanId]);
  }
});
