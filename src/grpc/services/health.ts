/** grpc.health.v1 for the whole server and each of its services. */
import type { Server, ServerWritableStream } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import type { OpenStreams } from '../call/streams.js';

/** The empty name is the server as a whole. */
const HEALTH_NAMES = [
  '',
  'keyturn.v1.CoordinatorService',
  'keyturn.v1.AdminService',
  'keyturn.v1.LeaderService',
] as const;

type WatchCall = ServerWritableStream<{ readonly service: string }, { status: string }>;

export class Health {
  readonly #implementation = new HealthImplementation();

  constructor() {
    this.setServing(false);
  }

  setServing(serving: boolean): void {
    for (const name of HEALTH_NAMES) this.#implementation.setStatus(name, serving ? 'SERVING' : 'NOT_SERVING');
  }

  /** Watch streams never end by themselves, so they are kept where a stop can end them. */
  addTo(server: Server, streams: OpenStreams): void {
    this.#implementation.addToServer({
      addService: (definition, implementation) => {
        // The library's type is that of any handler; its Watch is the one that streams.
        const { watch: untyped } = implementation;
        const watch = untyped as (call: WatchCall) => void;
        server.addService(definition, {
          ...implementation,
          watch: (call: WatchCall) => {
            streams.add(call);
            call.once('cancelled', () => streams.remove(call));
            // The library remembers every name that was ever asked for; one that it does not serve never changes.
            if (isServed(call.request.service)) watch(call);
            else call.write({ status: 'SERVICE_UNKNOWN' });
          },
        });
      },
    });
  }
}

function isServed(name: string): boolean {
  return HEALTH_NAMES.some((served) => served === name);
}
