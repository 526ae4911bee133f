/** Says that photos have changed: `node publish.js [messages] [photos]`. Few photos and many messages is the point. */
import amqp from 'amqplib';

const { AMQP_URL = 'amqp://127.0.0.1:5672', QUEUE = 'thumbnails' } = process.env;
const [messages = 200, photos = 10] = process.argv.slice(2).map(Number);

const broker = await amqp.connect(AMQP_URL);
const channel = await broker.createConfirmChannel();
await channel.assertQueue(QUEUE, { durable: true });
for (let n = 1; n <= messages; n++) {
  const photo = `photo-${n % photos}`;
  channel.sendToQueue(QUEUE, Buffer.from(photo), { persistent: true, messageId: String(n) });
}
await channel.waitForConfirms();
await broker.close();
console.log(`${messages} messages about ${photos} photos`);
