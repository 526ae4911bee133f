// Works on one order. The warehouse does not answer the first time, so there are two attempts: two spans, which link to the
// span that took the order. With TRACE_PARENT=yes they are its children instead, in one trace with it.
import { connect } from '@keyturn/client';
import { trace } from '@opentelemetry/api';

const keyturn = connect(process.env.KEYTURN_ADDRESS ?? '127.0.0.1:7420', {
  tracing: { parent: process.env.TRACE_PARENT === 'yes' },
});
keyturn.consume('orders', async ({ attempt }) => {
  await trace.getTracer('worker').startActiveSpan('pack', async (span) => span.end());
  if (attempt === 1) throw new Error('the warehouse does not answer');
  return Buffer.from('packed');
});
console.log(`${await keyturn.result('orders', 'order-1')}`);
await keyturn.close();
