/** Links over real sockets. */
import assert from 'node:assert/strict';
import { connect, constants } from 'node:http2';
import { before, describe, it } from 'node:test';
import { FaultProxy } from '../../../clients/conformance/process/fault-proxy.js';
import type { Coordinator, EnQueueAnswer, Result, SubmitAnswer } from '../../../src/coordinator.js';
import { PeerServiceService } from '../../../src/grpc/gen/keyturn/peer/v1/peer.js';
import { peerLinks } from '../../../src/grpc/peer/connect.js';
import type { PeerLinks } from '../../../src/grpc/peer/links.js';
import { whoAnswersAt } from '../../../src/grpc/peer/own-address.js';
import { type PeerServer, startPeerServer } from '../../../src/grpc/peer/peer-server.js';
import type { Certificates } from '../../../src/grpc/server/tls-credentials.js';
import { LocalCoordinator } from '../../../src/local/coordinator.js';
import { enQueueRequest, newItem, QUEUE, settings } from '../../support/builders.js';
import { Authority, type Pair } from '../../support/certificates.js';
import { until } from '../../support/until.js';

const SECRET = 'the secret of the cluster';
const MIB = 1_048_576;

class Site {
  readonly said: string[] = [];
  readonly home = new LocalCoordinator(settings());
  readonly log = {
    info: () => undefined,
    warn: (_fields: object, message: string) => void this.said.push(message),
    error: (fields: object, message: string) => void this.said.push(`${message} ${JSON.stringify(fields)}`),
  };
  server: PeerServer | undefined;
  readonly #links: PeerLinks[] = [];

  async start(certificates?: Certificates, listen = '127.0.0.1:0', incarnation = 'home'): Promise<string> {
    this.server = await startPeerServer({
      listen,
      certificates,
      secret: SECRET,
      incarnation,
      version: '1.0.0',
      home: () => this.home,
      routes: () => 1,
      limits: settings().limits,
      log: this.log,
    });
    return this.server.address;
  }

  connect(address: string, certificates?: () => Certificates): Coordinator {
    const { log } = this;
    const incarnation = `gateway ${this.#links.length}`;
    const links = peerLinks({ certificates, secret: SECRET, incarnation, version: '1', routes: () => 1, log });
    this.#links.push(links);
    return links.connect(address, 'home', 7);
  }

  /** Until a call gets through. */
  async linked(remote: Coordinator): Promise<void> {
    for (let told = await explain(remote); !told.ok; told = await explain(remote)) {
      assert.equal(told.refusal.kind, 'no_home', JSON.stringify(told));
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async stop(): Promise<void> {
    for (const links of this.#links) links.close();
    await this.server?.stop();
    await this.home.close();
  }
}

function explain(remote: Coordinator): Promise<Result<unknown>> {
  return remote.admin.ask('explainKey', { queue: QUEUE, key: 'a' });
}

function enQueue(remote: Coordinator, key: string, wait?: number): Promise<Result<EnQueueAnswer>> {
  return new Promise((resolve) => {
    remote.enQueue(enQueueRequest({ key, wait }), {
      answer: (value) => {
        resolve({ ok: true, value });
        return true;
      },
      refuse: (refusal) => resolve({ ok: false, refusal }),
    });
  });
}

function submit(remote: Coordinator, bytes: number): Promise<Result<SubmitAnswer>> {
  const items = [newItem({ key: '', payload: new Uint8Array(bytes) })];
  return new Promise((resolve) => {
    remote.submit(
      { queue: QUEUE, items, waitForRoom: 0, durability: undefined },
      {
        answer: (value) => {
          resolve({ ok: true, value });
          return true;
        },
        refuse: (refusal) => resolve({ ok: false, refusal }),
      },
    );
  });
}

async function withSite(use: (site: Site) => Promise<void>): Promise<void> {
  const site = new Site();
  try {
    await use(site);
  } finally {
    await site.stop();
  }
}

describe('a link over sockets', () => {
  it('S592: takes in no more than a handshake from who has not proved that it belongs to the cluster', () =>
    withSite(async (site) => {
      const address = await site.start();
      const session = connect(`http://${address}`);
      const stream = session.request({
        ':method': 'POST',
        ':path': PeerServiceService.link.path,
        'content-type': 'application/grpc',
        te: 'trailers',
      });
      stream.on('error', () => undefined);
      let answered = 0;
      stream.on('data', (chunk: Buffer) => {
        answered += chunk.length;
      });
      // A message of 16 MiB, of which a part comes.
      stream.write(Buffer.concat([Buffer.from([0, 1, 0, 0, 0]), Buffer.alloc(MIB)]));
      await new Promise<void>((resolve) => void stream.once('close', resolve));
      session.close();
      assert.notEqual(stream.rstCode, constants.NGHTTP2_NO_ERROR);
      assert.equal(answered, 0, 'nobody waited for the time of a handshake, and said so');
    }));

  it('carries calls, megabytes beside them, and 10,000 that wait', () =>
    withSite(async (site) => {
      const remote = site.connect(await site.start());
      await site.linked(remote);
      const first = await enQueue(remote, 'held');
      assert.ok(first.ok && first.value.decision === 'accept');
      const large = Array.from({ length: 20 }, () => submit(remote, MIB));
      const waiting = Array.from({ length: 10_000 }, (_, i) => enQueue(remote, `key ${i}`));
      assert.ok((await Promise.all(waiting)).every((result) => result.ok && result.value.decision === 'accept'));
      assert.ok((await Promise.all(large)).every((result) => result.ok));
      assert.equal(site.home.stats().queues[0]?.view.liveTurns, 10_001);
      assert.deepEqual(site.said, []);
    }));

  it('S288: cut and come back at once: what waits goes on', () =>
    withSite(async (site) => {
      const proxy = await FaultProxy.start(await site.start());
      const remote = site.connect(proxy.address);
      await site.linked(remote);
      const held = await enQueue(remote, 'a');
      assert.ok(held.ok && held.value.decision === 'accept');
      const waits = enQueue(remote, 'a', 60_000);
      await until(() => site.home.stats().waitingCalls === 1);
      proxy.cut();
      const { turn } = held.value;
      await until(() => proxy.accepted >= 4);
      site.home.deQueue(
        { queue: QUEUE, key: 'a', holder: { token: turn.token }, abandoned: false, result: undefined },
        { answer: () => true, refuse: (refusal) => assert.fail(JSON.stringify(refusal)) },
      );
      const answered = await waits;
      assert.ok(answered.ok && answered.value.decision === 'accept', JSON.stringify(answered));
      await proxy.close();
    }));

  it('S291: a connection that stands and carries nothing: what waits is told, and cancelled at the home', () =>
    withSite(async (site) => {
      const proxy = await FaultProxy.start(await site.start());
      const remote = site.connect(proxy.address);
      await site.linked(remote);
      await enQueue(remote, 'a');
      const waits = enQueue(remote, 'a', 60_000);
      await until(() => site.home.stats().waitingCalls === 1);
      proxy.silence();
      const told = await waits;
      assert.ok(!told.ok && told.refusal.kind === 'store_unavailable', JSON.stringify(told));
      await until(() => site.home.stats().waitingCalls === 0);
      await proxy.close();
    }));

  it('an address that is none is no more than a home that cannot be reached', () =>
    withSite(async (site) => {
      const remote = site.connect('dns:///[', undefined);
      await until(() => site.said.length > 0);
      const refused = await enQueue(remote, 'a');
      assert.ok(!refused.ok && refused.refusal.kind === 'no_home');
    }));

  it('a home that stops: its links end at once, and it can be started again at its port', () =>
    withSite(async (site) => {
      const address = await site.start();
      const remote = site.connect(address);
      await site.linked(remote);
      await enQueue(remote, 'a');
      const waits = enQueue(remote, 'a', 60_000);
      await until(() => site.home.stats().waitingCalls === 1);
      await site.server?.stop();
      const told = await waits;
      assert.ok(!told.ok && told.refusal.kind === 'store_unavailable', JSON.stringify(told));
      await until(() => site.home.stats().waitingCalls === 0);
      await site.start(undefined, address);
      await site.linked(remote);
      await site.server?.stop();
      await site.start(undefined, address, 'another one');
      await until(() => site.said.some((line) => line.includes('is the incarnation another one, not "home"')));
      const refused = await enQueue(remote, 'b');
      assert.ok(!refused.ok && refused.refusal.kind === 'no_home');
    }));
});

describe('a link with TLS', () => {
  let ca: Authority;
  let server: Pair;
  let client: Pair;
  let stranger: { readonly ca: Authority; readonly client: Pair; readonly server: Pair };

  before(async () => {
    ca = await Authority.make('cluster');
    // Peers are reached by addresses that stand in no certificate.
    server = await ca.issue({ name: 'home', use: 'server', hosts: ['home.example'] });
    client = await ca.issue({ name: 'gateway', use: 'client' });
    const other = await Authority.make('cluster');
    const issued = await Promise.all([
      other.issue({ name: 'gateway', use: 'client' }),
      other.issue({ name: 'home', use: 'server' }),
    ]);
    stranger = { ca: other, client: issued[0], server: issued[1] };
  });

  it('S293: both sides show a certificate of the authority of the cluster; a new one is used for new connections', () =>
    withSite(async (site) => {
      const address = await site.start(certificatesOf(server, ca));
      const remote = site.connect(address, () => certificatesOf(client, ca));
      await site.linked(remote);
      site.server?.useCertificates(certificatesOf(stranger.server, stranger.ca));
      const later = site.connect(address, () => certificatesOf(stranger.client, stranger.ca));
      await site.linked(later);
      assert.ok((await enQueue(remote, 'a')).ok, 'what is open goes on');
    }));

  const wrong: readonly [string, () => Certificates | undefined][] = [
    ['a certificate of another authority', () => certificatesOf(stranger.client, ca)],
    ['a home of another authority', () => certificatesOf(client, stranger.ca)],
    ['no TLS', () => undefined],
  ];
  for (const [what, certificates] of wrong) {
    it(`S293: is not made with ${what}`, () =>
      withSite(async (site) => {
        const address = await site.start(certificatesOf(server, ca));
        const used = certificates();
        const remote = site.connect(address, used === undefined ? undefined : () => used);
        await until(() => site.said.some((line) => line.startsWith('no link to another sidecar')));
        const refused = await enQueue(remote, 'a');
        assert.ok(!refused.ok && refused.refusal.kind === 'no_home');
        assert.equal(site.server?.links, 0);
      }));
  }

  it('S611: an address proves that this sidecar, another one, one of another cluster or nobody answers there', () =>
    withSite(async (site) => {
      const address = await site.start(certificatesOf(server, ca));
      const asked = {
        certificates: () => certificatesOf(client, ca),
        secret: SECRET,
        incarnation: 'home',
        version: '1',
      };
      assert.deepEqual(await whoAnswersAt(address, asked), { is: 'own' });
      assert.equal((await whoAnswersAt(address, { ...asked, incarnation: 'b' })).is, 'another');
      assert.equal((await whoAnswersAt(address, { ...asked, secret: 'of another' })).is, 'another');
      assert.equal((await whoAnswersAt(address, { ...asked, certificates: undefined })).is, 'unknown');
      assert.equal(site.server?.links, 0);
    }));

  it('is refused without an authority, and no server starts without a secret', async () => {
    const site = new Site();
    await assert.rejects(site.start({ ...certificatesOf(server, ca), clientCa: undefined }), /needs cert, key and ca/);
    const options = { incarnation: 'i', version: '1', home: () => undefined, routes: () => 1, log: site.log };
    const bare = { ...options, listen: '127.0.0.1:0', secret: '', limits: settings().limits };
    await assert.rejects(startPeerServer(bare), /without a secret/);
    await site.stop();
  });
});

function certificatesOf({ cert, key }: Pair, ca: Authority): Certificates {
  return { cert: Buffer.from(cert), key: Buffer.from(key), clientCa: Buffer.from(ca.cert) };
}
