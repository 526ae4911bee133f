// A shop takes an order: its span is what the attempts at the order link to.
import { connect } from '@keyturn/client';
import { trace } from '@opentelemetry/api';

const keyturn = connect(process.env.KEYTURN_ADDRESS ?? '127.0.0.1:7420');
await trace.getTracer('shop').startActiveSpan('order', async (span) => {
  await keyturn.submit('orders', { key: 'ada', itemId: 'order-1', payload: Buffer.from('twelve apples') });
  console.log(JSON.stringify({ trace: span.spanContext().traceId }));
  span.end();
});
await keyturn.close();
