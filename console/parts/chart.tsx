/** What was waiting, live and dead while one looked. The sidecar keeps no history: this begins when the page is opened. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type uPlot from 'uplot';
import { clockTime } from '../words/times.js';
import { Part } from './part.js';

export interface Sample {
  /** s */
  readonly at: number;
  readonly waiting: number;
  readonly liveTurns: number;
  readonly deadLetters: number;
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
        </tr>
      </thead>
      <tbody>
        {samples
          .slice(-SHOWN_ROWS)
          .toReversed()
          .map(({ at, waiting, liveTurns, deadLetters }) => (
            <tr key={at}>
              <td>{clockTime(at * 1_000, at * 1_000)}</td>
              <td class="number">{waiting}</td>
              <td class="number">{liveTurns}</td>
              <td class="number">{deadLetters}</td>
            </tr>
          ))}
      </tbody>
    </table>
  );
}
