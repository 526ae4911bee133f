/** docs/METRICS.md is what the code makes of it and what a sidecar under load exposes, and what that says is true. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connect, type Keyturn, type TlsOptions } from '@keyturn/client';
import { put, temporaryFolder, until } from '../cli/keyturn-process.js';
import { type Load, startLoad } from '../load/load.js';
import { loadSettings } from '../load/settings.js';
import { parseExposition } from '../observability/exposition.js';
import { read } from '../project/repository.js';
import { Authority } from '../support/certificates.js';
import { needs, pathOf } from '../support/needed-program.js';
import { METRICS_PAGE, metricsPage } from './metrics-page.js';
import { PROMTOOL } from './prometheus-programs.js';
import { IN_CLUSTER, WHEN } from './questions.js';
import { checkStanding, checkSums, type Families, standing, total } from './recounted-metrics.js';
import { OperatedSidecar } from './sidecar.js';
import { isOurs, type ToldMetric, toldMetrics } from './told-metrics.js';

test('the page is what the code makes: npm run docs:metrics', async () => {
  assert.equal(read(METRICS_PAGE).text, metricsPage(await toldMetrics()));
});

test(
  'a sidecar under load exposes what the page says, no more and no fewer, and it is true',
  needs([PROMTOOL]),
  async (t) => {
    const stage = await open(t);
    const told = (await toldMetrics()).filter(({ name }) => WHEN[name]?.startsWith(IN_CLUSTER) !== true);
    await until('every metric of ours has its labels', async () => {
      const families = await stage.scrape();
      return told.filter(isOurs).every((metric) => hasLabels(metric, families));
    });
    const families = await stage.scrape();
    assert.deepEqual([...families.keys()].sort(), told.map(({ name }) => name).sort());
    for (const metric of told) checkLabels(metric, families);
    const { path, text } = { path: pathOf(PROMTOOL), text: await stage.text() };
    assert.equal(execFileSync(path, ['check', 'metrics'], { input: text, encoding: 'utf8' }), '', 'promtool');

    const { cert, dataFile } = stage;
    const ends = Date.parse(new X509Certificate(cert).validTo) / 1_000;
    assert.equal(total(families, 'keyturn_certificate_end_timestamp_seconds'), ends);
    assert.ok(total(families, 'keyturn_certificate_begin_timestamp_seconds') < Date.now() / 1_000);

    await stage.load.stop();
    const calm = await countedAgain(stage);
    checkSums(calm);
    assert.equal(total(calm, 'keyturn_data_file_bytes'), statSync(dataFile).size);
    assert.equal(total(calm, 'keyturn_journal_unwritten_changes'), 0);
    for (const [call, method] of [
      ['pause_queue', 'PauseQueue'],
      ['resume_key', 'ResumeKey'],
      ['discard', 'Discard'],
    ] as const) {
      const calls = { method: `/keyturn.v1.AdminService/${method}`, code: 'OK' };
      const count = total(calm, 'keyturn_grpc_server_call_duration_seconds_count', calls);
      assert.equal(total(calm, 'keyturn_admin_changes_total', { call }), count, call);
    }
  },
);

interface Stage {
  readonly load: Load;
  readonly client: Keyturn;
  readonly cert: string;
  readonly dataFile: string;
  text(): Promise<string>;
  scrape(): Promise<Families>;
}

/** Without load it comes to rest, but for what timers do: then what was asked is asked again. */
async function countedAgain({ scrape, client }: Stage): Promise<Families> {
  for (;;) {
    const before = await scrape();
    const wrong = await checkStanding(before, client).catch((error: unknown) => error);
    const after = await scrape();
    const isOfOneMoment = standing(before) === standing(after) && total(after, 'keyturn_turns_live') === 0;
    if (isOfOneMoment && wrong === undefined) return after;
    if (isOfOneMoment) throw wrong;
  }
}

/** A sidecar with everything that has metrics, under load. */
async function open(t: TestContext): Promise<Stage> {
  const folder = await temporaryFolder(t);
  const authority = await Authority.make('Keyturn test');
  const { cert, key } = await authority.issue({ name: 'server', use: 'server' });
  const files = { cert: await put(folder, 'server.pem', cert), key: await put(folder, 'server.key', key) };
  const dataDir = join(folder, 'data');
  const sidecar = await OperatedSidecar.start({ folder, settings: { ...loadSettings({ dataDir }), tls: files } });
  t.after(() => sidecar.end());
  const tls: TlsOptions = { ca: await put(folder, 'ca.pem', authority.cert) };
  const load = startLoad(sidecar.grpc, { tls });
  t.after(() => load.stop());
  const client = connect(sidecar.grpc, { transport: 'unary', tls });
  t.after(() => client.close());
  const text = async () => (await fetch(`http://${sidecar.http}/metrics`)).text();
  const scrape = async () => parseExposition(await text());
  return { load, client, cert, dataFile: join(dataDir, 'data.mdb'), text, scrape };
}

function labelsIn(name: string, families: Families): Set<string> {
  const labels = new Set(families.get(name)?.samples.flatMap((sample) => Object.keys(sample.labels)));
  labels.delete('le');
  return labels;
}

function hasLabels({ name, labels }: ToldMetric, families: Families): boolean {
  const found = labelsIn(name, families);
  return (families.get(name)?.samples.length ?? 0) > 0 && labels.every((label) => found.has(label.name));
}

/** Of Node's own some have no sample for as long as nothing of the kind is there. */
function checkLabels({ name, type, labels }: ToldMetric, families: Families): void {
  const family = families.get(name) ?? assert.fail(name);
  assert.equal(family.type, type, name);
  if (family.samples.length > 0 || isOurs({ name }))
    assert.deepEqual([...labelsIn(name, families)].sort(), labels.map((label) => label.name).sort(), name);
  for (const { name: label, values } of labels) {
    for (const sample of values === undefined ? [] : family.samples)
      assert.ok(
        values?.includes(sample.labels[label] ?? ''),
        `${name}: ${label}="${sample.labels[label]}" is not told`,
      );
  }
}
