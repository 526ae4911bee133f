/** A table of thousands of rows of which those are there that are seen. Rows have one height. */

import { useSignal } from '@preact/signals';
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from '@tanstack/virtual-core';
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';

interface Column<R> {
  readonly title: string;
  /** Of `grid-template-columns`. */
  readonly width: string;
  readonly cell: (row: R) => ComponentChildren;
  readonly isNumber?: boolean;
}

interface LongListProps<R> {
  readonly label: string;
  readonly columns: readonly Column<R>[];
  readonly rows: readonly R[];
  readonly idOf: (row: R, at: number) => string;
  /** More than are here: how many there are in all. */
  readonly total?: number;
}

const ROW_PX = 34;

export function LongList<R>({ label, columns, rows, idOf, total }: LongListProps<R>) {
  const scroller = useRef<HTMLDivElement>(null);
  const moved = useSignal(0);
  const virtualizer = useMemo(
    () =>
      new Virtualizer<HTMLDivElement, HTMLDivElement>({
        count: 0,
        getScrollElement: () => scroller.current,
        estimateSize: () => ROW_PX,
        overscan: 8,
        observeElementRect,
        observeElementOffset,
        scrollToFn: elementScroll,
        onChange: () => {
          moved.value += 1;
        },
      }),
    [],
  );
  virtualizer.setOptions({ ...virtualizer.options, count: rows.length });
  useEffect(() => virtualizer._didMount(), [virtualizer]);
  useEffect(() => virtualizer._willUpdate());
  void moved.value;

  const template = { gridTemplateColumns: columns.map(({ width }) => width).join(' ') };
  const numeric = ({ isNumber }: Column<R>) => (isNumber === true ? 'number' : '');
  return (
    <div
      class="long"
      ref={scroller}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached with the keyboard
      tabIndex={0}
      role="table"
      aria-label={label}
      aria-rowcount={(total ?? rows.length) + 1}
      aria-colcount={columns.length}
    >
      <div role="rowgroup" class="long-head">
        <div role="row" aria-rowindex={1} class="long-row" style={template}>
          {columns.map((column) => (
            <div role="columnheader" key={column.title} class={numeric(column)}>
              {column.title}
            </div>
          ))}
        </div>
      </div>
      <div role="rowgroup" class="long-body" style={{ height: `${virtualizer.getTotalSize()}px` }}>
        {virtualizer.getVirtualItems().map(({ index, start }) => {
          const row = rows[index];
          if (row === undefined) return null;
          return (
            <div
              role="row"
              aria-rowindex={index + 2}
              class="long-row"
              key={idOf(row, index)}
              style={{ ...template, transform: `translateY(${start}px)` }}
            >
              {columns.map((column) => (
                <div role="cell" key={column.title} class={numeric(column)}>
                  {column.cell(row)}
                </div>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}
