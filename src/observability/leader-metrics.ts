/** The metrics of leaders, by their group. */
import type { GroupNumbers, GroupStats } from '../coordinator.js';
import { BoundedLabels, type Labelled } from './bounded-labels.js';
import { type PlainRegistry, plainCounter, plainGauge, plainHistogram } from './plain.js';
import { addCounts, HistogramSum, longest } from './stats-sum.js';

export class GroupLabels extends BoundedLabels<GroupNumbers, GroupStats, GroupStats> {
  constructor() {
    super(() => new GroupSum());
  }
}

class GroupSum {
  readonly #terms = { handed_over: 0, lost: 0 };
  readonly #without = new HistogramSum();
  #failed = 0;
  #candidates = 0;
  #vacant: number | undefined;

  add(stats: GroupStats): void {
    this.addCounters(stats);
    this.#candidates += stats.candidates;
    this.#vacant = longest(this.#vacant, stats.vacant);
  }

  addCounters({ terms, inaugurationsFailed, without }: GroupStats): void {
    addCounts(this.#terms, terms);
    this.#without.add(without);
    this.#failed += inaugurationsFailed;
  }

  totals(): GroupStats {
    return {
      terms: this.#terms,
      inaugurationsFailed: this.#failed,
      without: this.#without.view(),
      candidates: this.#candidates,
      vacant: this.#vacant,
    };
  }
}

type Groups = () => readonly Labelled<GroupStats>[];

export function registerLeaderMetrics(registry: PlainRegistry, groups: Groups): void {
  const described = (name: string, help: string, ...labels: readonly string[]) => ({
    registry,
    name,
    help,
    labelNames: ['group', ...labels],
  });
  const each = (value: (stats: GroupStats) => number) => () =>
    groups().map(({ label: group, stats }) => ({ labels: { group }, value: value(stats) }));
  plainCounter(
    described('keyturn_leader_terms_total', 'Terms that ended and whose leader was inaugurated.', 'how'),
    () =>
      groups().flatMap(({ label: group, stats }) =>
        Object.entries(stats.terms).map(([how, value]) => ({ labels: { group, how }, value })),
      ),
  );
  plainCounter(
    described('keyturn_leader_inaugurations_failed_total', 'Inaugurations that failed, or took too long.'),
    each(({ inaugurationsFailed }) => inaugurationsFailed),
  );
  plainGauge(
    described(
      'keyturn_leader_candidates',
      'Who waits for the term, those included that keep a place without a stream.',
    ),
    each(({ candidates }) => candidates),
  );
  plainGauge(
    described(
      'keyturn_leader_vacant_seconds',
      'For how long nobody has led, though somebody stands or the last leader was lost; 0: somebody leads, or the last one handed over and nobody stands.',
    ),
    each(({ vacant = 0 }) => vacant / 1_000),
  );
  plainHistogram(
    described(
      'keyturn_leader_seconds_without',
      'From the last sign of life of a leader until the next one was inaugurated.',
    ),
    () => groups().map(({ label: group, stats }) => ({ labels: { group }, view: stats.without })),
  );
}
