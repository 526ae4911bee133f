import type { RedisLink } from '../connection.js';
import { redisSource } from '../open-source.js';
import { RedisServer } from '../server.js';
import type { KeyedRequest, PlacesOptions, RedisPlace, RedisPlaces } from './places.js';

/** All keys at one Redis: at an address, or wherever sentinels say. */
export class OneRedis implements RedisPlaces {
  readonly isSpread = false;
  readonly caution = undefined;
  onFailover: RedisPlaces['onFailover'];

  private constructor(
    private readonly server: RedisServer,
    private readonly reader: RedisServer,
  ) {
    server.onFailover = () => this.onFailover?.(() => true);
  }

  /** @throws JournalError, which says why it cannot be used */
  static async open(url: string, { shape, readers, ...patience }: PlacesOptions): Promise<OneRedis> {
    const { clock } = patience;
    const server = await RedisServer.open(await redisSource(url, clock), { ...patience, ...shape });
    if (readers === undefined) return new OneRedis(server, server);
    try {
      const reader = await RedisServer.open(await redisSource(url, clock), { ...patience, ...readers, sameAs: server });
      return new OneRedis(server, reader);
    } catch (error) {
      server.close();
      throw error;
    }
  }

  get name(): string {
    return this.server.name;
  }

  get replicas(): number {
    return this.server.replicas;
  }

  at(): RedisPlace {
    return this.server;
  }

  readerAt(): RedisPlace {
    return this.reader;
  }

  readEach(requests: readonly KeyedRequest[]): Promise<readonly PromiseSettledResult<unknown>[]> {
    return this.server.use((link) => Promise.allSettled(requests.map(({ args }) => link.ask(args))));
  }

  atEach(task: (link: RedisLink) => Promise<void>): Promise<void> {
    return this.server.use(task);
  }

  close(): void {
    this.server.close();
    if (this.reader !== this.server) this.reader.close();
  }
}
