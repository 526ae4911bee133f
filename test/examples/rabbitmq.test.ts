import { describe, it } from 'node:test';
import { connect } from 'amqplib';
import { needs } from '../support/needed-program.js';
import { RABBITMQ, startRabbitmq } from '../support/rabbitmq.js';

describe('the example worker of RabbitMQ', needs(RABBITMQ), () => {
  it('x', async (t) => {
    const url = await startRabbitmq(t);
    const broker = await connect(url);
    await broker.close();
  });
});
