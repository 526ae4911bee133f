/** One process with a client in it: the real session transport on a simulated network, with people on top. */
import type { AckAnswer, AckCall, CallSettings, Transport } from '@keyturn/client';
import { DEFAULT_OPEN_LIMITS } from '#client/session/open-commands';
import { DEFAULT_BACK_OFF } from '#client/session/settings';
import { SessionTransport } from '#client/session/transport';
import { idMaker } from '#client/words/ids';
import { Channel } from './network-channel.js';
import type { Network } from './network-line.js';
import { Person, type Surroundings } from './network-people.js';
import { Promises } from './network-promises.js';
import type { Watch } from './network-watch.js';
import type { Process } from './network-world.js';
import type { Chance } from './random.js';

export class Client {
  readonly promises: Promises;
  readonly #channel: Channel;
  readonly #transport: Transport;
  readonly #person: Person;

  constructor(
    readonly process: Process,
    network: Network,
    chance: Chance,
    around: Surroundings,
    ttl: number,
    log: (line: string) => void,
  ) {
    const { name } = process;
    this.promises = new Promises((line) => log(`${name} ${line}`));
    this.#channel = new Channel(process, network, chance);
    const settings = {
      address: name,
      sessionId: name,
      consumerId: name,
      ttl,
      margin: undefined,
      limits: DEFAULT_OPEN_LIMITS,
      backOff: DEFAULT_BACK_OFF,
    };
    const random = () => chance.next();
    const newId = idMaker(name);
    const { openStream } = this.#channel;
    this.#transport = new SessionTransport(settings, { clock: process, random, newId, openStream });
    const base = { transport: noted(this.#transport, around.watch), random, newId };
    this.#person = new Person(process, base, chance, this.promises, around);
  }

  start(): void {
    for (const job of ['caller', 'caller', 'caller', 'consumer', 'submitter', 'producer'] as const)
      this.#person.start(job);
  }

  consumeWell(): void {
    this.#person.consumeWell();
  }

  close(timeout: number): void {
    const close = async () => {
      await this.#person.close(timeout);
      await this.#transport.close();
      this.#channel.close();
    };
    void this.promises.follow('close', close());
  }
}

/** A transport that says when an Ack was answered. */
function noted(transport: Transport, watch: Watch): Transport {
  return {
    clock: transport.clock,
    enQueue: (call, settings) => transport.enQueue(call, settings),
    deQueue: (call, settings) => transport.deQueue(call, settings),
    submit: (call, settings) => transport.submit(call, settings),
    acquire: (call, settings) => transport.acquire(call, settings),
    async ack(call: AckCall, settings?: CallSettings): Promise<AckAnswer> {
      const answer = await transport.ack(call, settings);
      watch.acked(call.queue, Number(call.token));
      return answer;
    },
    nack: (call, settings) => transport.nack(call, settings),
    renew: (call, settings) => transport.renew(call, settings),
    awaitItem: (call, settings) => transport.awaitItem(call, settings),
    hold: (turn, askedAt) => transport.hold(turn, askedAt),
    close: () => transport.close(),
  };
}
