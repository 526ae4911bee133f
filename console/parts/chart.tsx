/** What was waiting, live and dead while one looked. The sidecar keeps no history: this begins when the page is opened. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type uPlot from 'uplot';
import { clockTime, lengthOf } from '../words/times.js';
import { Part } from './part.js';
import { Spark } from './spark.js';

export interface Sample {
  /** s */
  readonly at: number;
  readonly waiting: number;
  readonly liveTurns: number;
  readonly deadLetters: number;
  /** What happened since the sample before, a second. Unset: nothing was known of it. */
  readonly perSecond: number | undefined;
  /** s that the oldest entry waits; 0: none does. */
  readonly oldest: number;
}

interface ChartProps {
  readonly samples: readonly Sample[];
  /** Another one with every sample. */
  readonly moved: unknown;
}

const SHOWN_ROWS = 10;

export function Chart({ samples, moved }: ChartProps) {
  const isOpen = useSignal(false);
  return (
    <Part title="While you look">
      <Sparks samples={samples} />
      <details
        onToggle={(event) => {
          isOpen.value = event.currentTarget.open;
        }}
      >
        <summary>Show the chart and its table</summary>
        {isOpen.value && <Picture samples={samples} moved={moved} />}
        {isOpen.value && <Table samples={samples} />}
      </details>
    </Part>
  );
}

const IN_A_SPARK = 60;

/** The last two minutes; the numbers beside them and in the table are for those who cannot see a line. */
function Sparks({ samples }: { readonly samples: readonly Sample[] }) {
  const last = samples.slice(-IN_A_SPARK);
  const now = last.at(-1);
  return (
    <dl class="facts">
      <div>
        <dt>Events a second</dt>
        <dd>
          {now?.perSecond === undefined ? '–' : rounded(now.perSecond)}{' '}
          <Spark of={last.map(({ perSecond = 0 }) => perSecond)} />
        </dd>
      </div>
      <div>
        <dt>Oldest waits</dt>
        <dd>
          {now === undefined || now.oldest === 0 ? '–' : lengthOf(now.oldest * 1_000)}{' '}
          <Spark of={last.map(({ oldest }) => oldest)} />
        </dd>
      </div>
      <div>
        <dt>Waiting</dt>
        <dd>
          {(now?.waiting ?? 0).toLocaleString('en')} <Spark of={last.map(({ waiting }) => waiting)} />
        </dd>
      </div>
    </dl>
  );
}

function rounded(rate: number): string {
  return rate.toLocaleString('en', { maximumFractionDigits: rate < 10 ? 1 : 0 });
}

function Picture({ samples, moved }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | undefined>(undefined);
  const failed = useSignal(false);
  useEffect(() => {
    let isGone = false;
    const { current } = place;
    const watcher = new ResizeObserver(() => chart.current?.setSize(sizeOf(current)));
    import('./plot.js').then(
      ({ plot }) => {
        if (isGone || current === null) return;
        chart.current = plot(current, sizeOf(current), dataOf(samples));
        watcher.observe(current);
      },
      () => {
        failed.value = true;
      },
    );
    return () => {
      isGone = true;
      watcher.disconnect();
      chart.current?.destroy();
    };
  }, []);
  useEffect(() => chart.current?.setData(dataOf(samples)), [moved]);
  return (
    <div
      class="chart"
      ref={place}
      role="img"
      aria-label="Waiting, live turns and dead letters over time; the table below has the numbers."
    >
      {failed.value && <p class="wrong">The chart could not be loaded; the table has the numbers.</p>}
    </div>
  );
}

function sizeOf(element: Element | null): { width: number; height: number } {
  return { width: Math.max(200, element?.clientWidth ?? 0), height: 220 };
}

function dataOf(samples: readonly Sample[]): uPlot.AlignedData {
  return [
    samples.map(({ at }) => at),
    samples.map(({ waiting }) => waiting),
    samples.map(({ liveTurns }) => liveTurns),
    samples.map(({ deadLetters }) => deadLetters),
  ];
}

function Table({ samples }: { readonly samples: readonly Sample[] }) {
  return (
    <table class="compact">
      <caption class="unseen">The newest numbers of the chart</caption>
      <thead>
        <tr>
          <th scope="col">At</th>
          <th scope="col" class="number">
            Waiting
          </th>
          <th scope="col" class="number">
            Live turns
          </th>
          <th scope="col" class="number">
            Dead letters
          </th>
          <th scope="col" class="number">
            Events a second
          </th>
          <th scope="col" class="number">
            Oldest waits
          </th>
        </tr>
      </thead>
      <tbody>
        {samples
          .slice(-SHOWN_ROWS)
          .toReversed()
          .map(({ at, waiting, liveTurns, deadLetters, perSecond, oldest }) => (
            <tr key={at}>
              <td>{clockTime(at * 1_000, at * 1_000)}</td>
              <td class="number">{waiting}</td>
              <td class="number">{liveTurns}</td>
              <td class="number">{deadLetters}</td>
              <td class="number">{perSecond === undefined ? '–' : rounded(perSecond)}</td>
              <td class="number">{oldest === 0 ? '–' : lengthOf(oldest * 1_000)}</td>
            </tr>
          ))}
      </tbody>
    </table>
  );
}
