/** Every panel shows something under load, with real sidecars and a real Prometheus; what rests empty says why. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { parseExposition } from '../observability/exposition.js';
import { PROMETHEUS } from '../operating/prometheus-programs.js';
import { needs } from '../support/needed-program.js';
import { REDIS } from '../support/redis.js';
import { type Dashboard, dashboardsOnDisk, type Panel } from './dashboard-file.js';
import type { Answer, Span } from './prometheus.js';
import { readQuery } from './promql.js';
import { type Rehearsal, startRehearsal } from './rehearsal.js';
import { isEmpty, isLively, show } from './showing.js';
import { type Chosen, putIn } from './variables.js';

const SCRAPE_INTERVAL = '1s';
/** Until then there is nothing new. */
const nextScrape = () => setTimeout(1_000);
/** As Grafana takes it: four scrapes at the least. */
const RATE_INTERVAL = '4s';
/** After so many looks that did not find everything a member dies once more. */
const PASSES_OF_A_DEATH = 10;
/** Far beyond what it takes on a busy machine; a panel that is still empty then is one that stays so. */
const LONGEST_MS = 90_000;
const ALL: Chosen['values'] = { job: 'All', instance: 'All', queue: 'All' };

/** What the load does not break, so that these show 0 for good. */
const RESTS_AT_ZERO: ReadonlySet<string> = new Set([
  'Sidecars that do not serve',
  'Down, not ready',
  'Queues that do not move',
  'Internal errors',
  'Writes that failed',
  // A worker that stands once withdraws before it says that it has stopped: that is no failure to the sidecar.
  'Inaugurations that failed, by group',
  // A second or two, between two scrapes perhaps.
  'Partitions that take no calls',
  'The store fails, or forgot',
]);

/** Queues of the load to which many things never happen: no turn starts, nothing is submitted, nobody calls. */
const LOPSIDED = ['archive', 'pages', 'mails'];

const dashboards = dashboardsOnDisk();
const places = dashboards.flatMap((dashboard) =>
  dashboard.panels.filter(({ targets }) => targets.length > 0).map((panel) => ({ dashboard, panel })),
);

describe('a rehearsal', needs([PROMETHEUS, REDIS]), () => {
  const cleanups: (() => Promise<void> | void)[] = [];
  let rehearsal: Rehearsal;

  before(async () => {
    rehearsal = await startRehearsal({ after: (task) => void cleanups.unshift(task) }, SCRAPE_INTERVAL);
  });
  after(async () => {
    for (const cleanup of cleanups) await cleanup();
  });

  const untilNow = (): Span => ({ from: rehearsal.began, to: Date.now() / 1_000, step: 2 });
  const shown = (panel: Panel, values: Chosen['values']) =>
    show(rehearsal.prometheus, panel, values, untilNow(), RATE_INTERVAL);

  test('every query of every panel has an answer, and no panel rests at 0', async () => {
    const giveUpAt = Date.now() + LONGEST_MS;
    let left = places;
    for (let passes = 1; left.length > 0; passes += 1) {
      const still = [];
      for (const place of left) {
        const answers = await shown(place.panel, ALL);
        const isThere = RESTS_AT_ZERO.has(place.panel.title) ? !isEmpty(answers) : isLively(answers);
        if (!isThere) still.push(place);
      }
      left = still;
      const missing = left.map(({ dashboard, panel }) => `${dashboard.title}: ${panel.title}`);
      if (Date.now() > giveUpAt) assert.deepEqual(missing, [], 'these show nothing');
      if (left.length > 0) await (passes % PASSES_OF_A_DEATH === 0 ? rehearsal.loseOne() : nextScrape());
    }
  });

  test('every metric and every label is one that a sidecar exposes', async () => {
    const known = await exposedLabels([rehearsal.full, rehearsal.members[0]]);
    const unknown = dashboards.flatMap((dashboard) => asked(dashboard).flatMap((query) => unknownIn(query, known)));
    assert.deepEqual(unknown, []);
  });

  test('the variables have values: the job, all sidecars, the queues', async () => {
    const instances = [rehearsal.full, rehearsal.plain, ...rehearsal.members];
    for (const { variables } of dashboards) {
      for (const { name, query } of variables.filter(({ type }) => type === 'query')) {
        const [, selector = '', label = ''] = /^label_values\((.+), (\w+)\)$/.exec(String(query)) ?? [];
        assert.equal(label, name);
        const found = await rehearsal.prometheus.labelValues(label, putIn(selector, chosen({})));
        const expected = { job: ['keyturn'], instance: instances.toSorted() }[label];
        if (expected !== undefined) assert.deepEqual(found, expected);
        else assert.ok(found.includes('orders') && found.includes('archive'), found.join());
      }
    }
  });

  /** A member that died has come back, or was not scraped since. */
  async function all(count: number, query: string): Promise<readonly Answer[]> {
    const giveUpAt = Date.now() + LONGEST_MS;
    for (;;) {
      const answers = await rehearsal.prometheus.query(query, Date.now() / 1_000);
      if (answers.length === count) return answers;
      assert.ok(Date.now() < giveUpAt, `${answers.length} of ${count} sidecars`);
      await nextScrape();
    }
  }

  test('restarts are marked at the moment of the start', async () => {
    for (const { annotations } of dashboards) {
      const [restarts] = annotations;
      const query = putIn(String(restarts?.['expr']), chosen({}));
      const answers = await all(4, query);
      for (const { points } of answers) {
        const [, ms = 0] = points[0] ?? [];
        assert.ok(Math.abs(ms / 1_000 - rehearsal.began) < 120, `${ms}`);
      }
    }
  });

  test('without data_dir, TLS and store exactly those panels are empty that say so', async () => {
    const empty = await emptyOnes(places, { ...ALL, instance: [rehearsal.plain] });
    const saysSo = places.map(({ panel }) => panel).filter(({ description }) => / Empty without /.test(description));
    assert.deepEqual(empty.map(({ title }) => title).sort(), saysSo.map(({ title }) => title).sort());
  });

  test('of one queue by itself, a panel that is empty says why', async () => {
    const ofQueue = places.filter(({ dashboard }) => dashboard.variables.some(({ name }) => name === 'queue'));
    for (const queue of LOPSIDED) {
      const empty = await emptyOnes(ofQueue, { ...ALL, queue: [queue] });
      const silent = empty.filter(({ description }) => !/ Empty while /.test(description));
      assert.deepEqual(
        silent.map(({ title }) => title),
        [],
        queue,
      );
    }
  });

  test('two queues chosen are these two, and no other whose name fits by chance', async () => {
    const panel = places.find(({ panel: { title } }) => title === 'Turns that live, and max_in_flight')?.panel;
    assert.ok(panel);
    const [turns] = await shown(panel, { ...ALL, queue: ['orders', 'mail.'] });
    assert.deepEqual(
      turns?.answers.map(({ labels }) => labels['queue']),
      ['orders'],
    );
    const [both] = await shown(panel, { ...ALL, queue: ['orders', 'mails'] });
    assert.deepEqual(both?.answers.map(({ labels }) => labels['queue']).sort(), ['mails', 'orders']);
  });

  async function emptyOnes(among: typeof places, values: Chosen['values']): Promise<readonly Panel[]> {
    const found: Panel[] = [];
    for (const { panel } of among) if (isEmpty(await shown(panel, values))) found.push(panel);
    return found;
  }
});

function chosen(values: Chosen['values']): Chosen {
  return { values: { ...ALL, ...values }, rateInterval: RATE_INTERVAL, range: '1m' };
}

interface AskedFor {
  readonly query: string;
  /** Labels that a legend names. */
  readonly named: readonly string[];
}

function asked({ panels, annotations, variables }: Dashboard): readonly AskedFor[] {
  const labelsIn = (text: string) =>
    [...text.matchAll(/\{\{\s*(\w+)\s*\}\}|__field\.labels\.(\w+)/g)].map(([, a, b]) => a ?? b ?? '');
  return [
    ...panels.flatMap(({ targets, json }) =>
      targets.map(({ expr, legendFormat }) => ({
        query: expr,
        named: [...labelsIn(legendFormat), ...labelsIn(JSON.stringify(json['fieldConfig']))],
      })),
    ),
    ...annotations.map(({ expr, textFormat }) => ({ query: String(expr), named: labelsIn(String(textFormat)) })),
    ...variables
      .filter(({ type }) => type === 'query')
      .map(({ query }) => ({ query: String(query).replace(/^label_values\((.+), \w+\)$/, '$1'), named: [] })),
  ];
}

/** What Prometheus adds by itself. */
const ADDED_LABELS = ['job', 'instance'];

function unknownIn({ query, named }: AskedFor, known: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] {
  const { selectors, groupedBy } = readQuery(putIn(query, chosen({})));
  const wrong: string[] = [];
  const ofAll = new Set<string>();
  for (const { metric, matchers } of selectors) {
    const labels = known.get(metric);
    if (labels === undefined) wrong.push(`${metric} is not exposed`);
    for (const label of labels ?? []) ofAll.add(label);
    for (const { label } of matchers) if (labels?.has(label) === false) wrong.push(`${metric} has no label ${label}`);
  }
  for (const label of [...groupedBy, ...named]) if (!ofAll.has(label)) wrong.push(`${query} knows no label ${label}`);
  return wrong;
}

/** The names of all series with their labels, as the sidecars tell them now. */
async function exposedLabels(addresses: readonly string[]): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const texts = await Promise.all(addresses.map(async (address) => (await fetch(`http://${address}/metrics`)).text()));
  const known = new Map<string, Set<string>>([['up', new Set(ADDED_LABELS)]]);
  for (const { samples } of texts.flatMap((text) => [...parseExposition(text).values()])) {
    for (const { name, labels } of samples) {
      const all = known.get(name) ?? new Set(ADDED_LABELS);
      for (const label of Object.keys(labels)) all.add(label);
      known.set(name, all);
    }
  }
  return known;
}
