/**
 * A worker that takes messages from RabbitMQ and, before it processes one, asks Keyturn for the turn of its key.
 *
 * Here a message says "this photo has changed", its key is the photo, and the work makes a new thumbnail of it. However
 * many workers run, a photo is in one hand at a time; and when it changes ten times in a second, the work is not done
 * ten times: one works, one waits and will see the newest photo, the others are not needed.
 */
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '@keyturn/client';
import amqp from 'amqplib';
import { makeThumbnail } from './thumbnail.js';

const {
  AMQP_URL = 'amqp://127.0.0.1:5672',
  KEYTURN_ADDRESS = '127.0.0.1:7420',
  QUEUE = 'thumbnails',
  /** How long a message waits for its turn before it goes back to the broker, ms. */
  WAIT_MS = '30000',
} = process.env;

const keyturn = connect(KEYTURN_ADDRESS, { consumerId: `${hostname()}:${process.pid}` });
const broker = await amqp.connect(AMQP_URL);
const channel = await broker.createChannel();
await channel.assertQueue(QUEUE, { durable: true });
// So many messages at once. A message that waits for its turn costs next to nothing.
await channel.prefetch(20);

/** @type {Set<Promise<void>>} */
const inWork = new Set();
const { consumerTag } = await channel.consume(QUEUE, (message) => {
  if (message === null) {
    // RabbitMQ says so when the queue is deleted.
    void stop(1);
  } else {
    const work = handle(message).finally(() => inWork.delete(work));
    inWork.add(work);
  }
});

/** @param {amqp.ConsumeMessage} message */
async function handle(message) {
  const photo = message.content.toString();
  try {
    const options = { wait: Number(WAIT_MS) };
    const outcome = await keyturn.withTurn(QUEUE, photo, options, (turn) => makeThumbnail(photo, turn));
    // Who died with a message in its hands may still have a place in the line, for as long as its ticket keeps it: then its
    // message, which comes again, would be declined for its own sake. So what comes again is done, whoever waits.
    const again = outcome.status === 'declined' && message.fields.redelivered;
    log(message, again ? 'put back' : outcome.status);
    switch (outcome.status) {
      case 'done':
        return channel.ack(message);
      case 'declined':
        if (again) {
          await sleep(500);
          return channel.nack(message);
        }
        // Not needed: somebody waits for this photo already, and will see what we would have seen.
        return channel.ack(message);
      case 'blocked':
        // Somebody takes very long. RabbitMQ keeps the message for whoever asks next.
        return channel.nack(message);
    }
  } catch (error) {
    // The turn was lost while we worked (TurnLostError), the sidecar was away for long, or the work failed. Somebody
    // shall do it again. A real worker counts, and gives up after a while: a quorum queue with a delivery limit does.
    log(message, String(error));
    await sleep(500);
    channel.nack(message);
  }
}

/** @param {amqp.ConsumeMessage} message @param {string} outcome */
function log({ content, properties, fields: { redelivered } }, outcome) {
  console.log(JSON.stringify({ photo: content.toString(), id: properties.messageId, redelivered, outcome }));
}

let stopping = false;

/** Takes no more messages, finishes those it has, and lets go of everything: then the process ends by itself. */
async function stop(exitCode = 0) {
  if (stopping) return;
  stopping = true;
  process.exitCode = exitCode;
  await channel.cancel(consumerTag);
  await Promise.all(inWork);
  await channel.close();
  await broker.close();
  await keyturn.close();
}

process.once('SIGTERM', () => stop());
process.once('SIGINT', () => stop());
broker.on('error', (error) => console.error(String(error)));
broker.on('close', () => {
  // Without the broker there is nothing to do, and it gives our messages to others: let a supervisor start us again.
  if (!stopping) process.exit(1);
});
