/**
 * A process that produces with a spool, until it is killed: `spooling-child ADDRESS DIRECTORY COUNT`. It writes the number of
 * each item that is safe, on a line of its own, and `all` when there are no more.
 */
import process from 'node:process';
import { connect } from '@keyturn/client';

const [address = '', directory = '', count = '0'] = process.argv.slice(2);
const keyturn = connect(address);
const producer = keyturn.producer('q', {
  count: 20,
  interval: 1,
  spool: { directory, interval: 2, count: 50, patience: 200 },
  onError: (error) => process.stderr.write(`${String(error)}\n`),
});
for (let n = 0; n < Number(count); n++) {
  await producer.ready();
  void producer.add({ key: `k${n % 3}`, payload: Buffer.from(String(n)), itemId: `item-${n}` }).then(({ decision }) => {
    process.stdout.write(`${n} ${decision}\n`);
  });
  if (n % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
}
await producer.flush();
process.stdout.write('all\n');
// It stays: whoever started it kills it.
setInterval(() => undefined, 60_000);
