/** A worker as a process of its own: takes the turn of a key and keeps it. */
import { connect } from '@keyturn/client';

const [address = ''] = process.argv.slice(2);
const keyturn = connect(address, { sessionTtl: 1_000 });
const outcome = await keyturn.withTurn('orders', 'k', async ({ token }) => {
  process.stdout.write(`${JSON.stringify({ token })}\n`);
  await new Promise(() => undefined);
});
process.stdout.write(`${JSON.stringify(outcome)}\n`);
