/** A real sidecar in which five keys do not move, each for another reason, among as many queues as one is woken for. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Keyturn } from '@keyturn/client';
import { ServeProcess } from '../cli/serve-process.js';
import { yamlFile } from '../config/yaml-file.js';
import { ROOT } from '../project/repository.js';

/** Whatever ends what a test began. */
interface Cleanup {
  after(task: () => unknown): void;
}

const SETTINGS = `
queues:
  invoices: { on_dead_letter: park }
  mails: { rate: { per_second: 0.001, burst: 1 } }
  thumbnails: { lease: 10m }
  payments: { lease: 10m }
`;

/** @returns settings with so many more queues, which stay though they have nothing to do */
function settings(queues: number): string {
  const names = Array.from({ length: queues }, (_, at) => `  shop-${String(at).padStart(5, '0')}: {}\n`);
  return SETTINGS + names.join('');
}

const CONSOLE = ['--console-listen', '127.0.0.1:0'];

/** Where a sidecar serves its page, without a slash at the end. */
export async function pageOf(sidecar: Pick<ServeProcess, 'logged'>): Promise<string> {
  return String((await sidecar.logged('listening'))['console']).replace(/\/$/, '');
}

/** Names that people should not choose, and do. */
export const HOSTILE = {
  emoji: '👩‍👩‍👧 family',
  rightToLeft: 'שלום abc',
  override: 'photo\u202egpj.exe',
  control: 'a\u0000b\u001b[31m\nc',
  markup: '<img src=x onerror=alert(1)>',
  path: '../..?queue=x&key=y#z',
  spaces: ' two  spaces ',
  invisible: 'pay\u200bload',
} as const;

const HOSTILE_NAMES: readonly string[] = Object.values(HOSTILE);

export interface Scene {
  readonly address: string;
  readonly client: Keyturn;
  /** Of its console, without a slash at the end. */
  readonly page: string;
}

/** @param queues how many more there are, with nothing to do @param names of keys that are hard to show */
export async function startScene(t: Cleanup, queues: number, names = HOSTILE_NAMES): Promise<Scene> {
  const sidecar = await ServeProcess.start(t, ['--config', yamlFile(t, settings(queues)), ...CONSOLE]);
  const address = await sidecar.address('grpc');
  const client = connect(address, { consumerId: 'worker-1' });
  t.after(() => client.close());
  await Promise.all([
    heldByWorker(client),
    parked(client),
    behindRate(client),
    behindDependency(client),
    heldByDeadWorker(t, address, client),
    hostile(client, names),
    deadLetters(client),
    leads(t, client),
  ]);
  return { address, client, page: await pageOf(sidecar) };
}

/** Waits in the line of a key for longer than any test. */
function waits(client: Keyturn, queue: string, key: string, consumerId: string): void {
  const call = { queue, key, consumerId, ticket: `ticket-${consumerId}`, wait: 300_000 };
  // The end of the test ends the wait.
  client.enQueue(call).catch(() => undefined);
}

async function heldByWorker(client: Keyturn): Promise<void> {
  await client.enQueue({ queue: 'payments', key: 'customer-7', consumerId: 'worker-slow' });
  waits(client, 'payments', 'customer-7', 'worker-2');
}

async function parked(client: Keyturn): Promise<void> {
  const queue = 'invoices';
  for (const key of ['ada', 'grace']) {
    await client.submit(queue, { key, payload: Buffer.from('{"invoice": 12}') });
    const { deliveries } = await client.acquire({ queues: [queue], wait: 10_000 });
    const { turn } = deliveries[0] ?? fail();
    await client.nack({ queue, key, token: turn.token, kind: 'dead_letter', error: 'no such customer' });
    await client.submit(queue, { key, payload: Buffer.from('{"invoice": 13}') });
  }
}

async function behindRate(client: Keyturn): Promise<void> {
  const answer = await client.enQueue({ queue: 'mails', key: 'first' });
  if (answer.decision !== 'accept') fail();
  await client.deQueue({ queue: 'mails', key: 'first', token: answer.turn.token });
  waits(client, 'mails', 'newsletter', 'worker-3');
}

async function behindDependency(client: Keyturn): Promise<void> {
  const { itemId } = await client.submit('imports', { key: 'monday', itemId: 'import-monday' });
  await client.submit('reports', { key: 'weekly', after: [{ queue: 'imports', itemId }] });
}

/** A process that is killed while it has its turn. Its session may come back for five minutes. */
async function heldByDeadWorker(t: Cleanup, address: string, client: Keyturn): Promise<void> {
  const script = `
    import { connect } from '@keyturn/client';
    const client = connect('${address}', { consumerId: 'worker-dead', sessionId: 'dead', sessionTtl: 300_000 });
    const { decision } = await client.enQueue({ queue: 'thumbnails', key: 'photo-17' });
    process.stdout.write(decision);
  `;
  const worker = spawn(process.execPath, ['--input-type=module', '-'], {
    cwd: ROOT,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(() => worker.kill('SIGKILL'));
  worker.stdin.end(script);
  const [said] = await once(worker.stdout, 'data');
  if (String(said) !== 'accept') fail();
  worker.kill('SIGKILL');
  waits(client, 'thumbnails', 'photo-17', 'worker-4');
}

async function hostile(client: Keyturn, names: readonly string[]): Promise<void> {
  for (const key of names) await client.submit('hostile', { key, payload: Buffer.from(key) });
}

/** A pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** What people send, and what would be run if it were shown carelessly. */
export const PAYLOADS: Readonly<Record<string, Buffer>> = {
  json: Buffer.from('{"order":12,"name":"Zoë"}'),
  text: Buffer.from('plain\ntext'),
  protobuf: Buffer.from([0x08, 0x96, 0x01, 0x12, 0x02, 0x00, 0xff]),
  picture: PNG,
  svg: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="document.title = \'run\'"></svg>'),
  markup: Buffer.from('<script>document.title = "run"</script>'),
};

async function deadLetters(client: Keyturn): Promise<void> {
  const queue = 'orders';
  for (const [key, payload] of Object.entries(PAYLOADS)) {
    await client.submit(queue, { key, payload, headers: { kind: key } });
    const { deliveries } = await client.acquire({ queues: [queue], wait: 10_000 });
    const { turn } = deliveries[0] ?? fail();
    const error = key === 'json' ? 'no such customer' : `line ${payload.length} is too long`;
    await client.nack({ queue, key, token: turn.token, kind: 'dead_letter', error });
  }
}

function leads(t: Cleanup, client: Keyturn): Promise<void> {
  return new Promise((began) => {
    const execute = async (_term: unknown, signal: AbortSignal): Promise<void> => {
      began();
      await once(signal, 'abort');
    };
    const leadership = client.lead('billing', { execute }, { candidateId: 'host-1', metadata: { version: '7' } });
    t.after(() => leadership.stop());
  });
}

function fail(): never {
  throw new Error('the scene did not come about');
}
