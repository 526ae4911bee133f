/**
 * A worker as people write one: it takes turns until SIGTERM, lets what runs end, and exits. Its work ends with SIGUSR2.
 * The first argument is the address of its sidecar; with `submits` each piece of work hands a message on at its end.
 */
import { connect, KeyturnError } from '@keyturn/client';

const [address = '', submits] = process.argv.slice(2);
const say = (fields: object) => process.stdout.write(`${JSON.stringify(fields)}\n`);
const finished = new Promise<void>((resolve) => process.once('SIGUSR2', resolve));

const keyturn = connect(address);
const consumer = keyturn.consume('orders', async ({ key }) => {
  say({ works: key });
  await finished;
  if (submits === 'submits') say({ submit: await handedOn(key) });
});

process.once('SIGTERM', async () => {
  say({ stopping: true });
  await consumer.stop({ timeout: 30_000 });
  await keyturn.close();
});
say({ worker: 'ready' });

async function handedOn(key: string): Promise<string> {
  try {
    return (await keyturn.submit('mails', { key }, { timeout: 1_000 })).decision;
  } catch (error) {
    return error instanceof KeyturnError ? (error.reason ?? error.code) : String(error);
  }
}
