/** A panel as this project means it: what it asks, what answers. How Grafana writes that down is in `panel-json.ts`. */

export interface Query {
  readonly expr: string;
  /** The name of a line, with labels in `{{}}`. Of a table: of the column. */
  readonly name: string;
}

export interface Threshold {
  readonly from: number;
  readonly color: 'green' | 'yellow' | 'orange' | 'red' | 'blue';
}

/** A value that is shown as words. */
export interface Word {
  readonly value: number;
  readonly text: string;
  readonly color: Threshold['color'];
}

interface Common {
  readonly title: string;
  /** The question that it answers, and what to do with the answer. Ends up as the description. */
  readonly asks: string;
  /** An id of Grafana's units. */
  readonly unit: string;
  readonly queries: readonly Query[];
  /** When it rests empty though all is well, as `without data_dir`: said in the description, and in its place. */
  readonly emptyWhen?: string;
  /** Of 24. */
  readonly width?: number;
  /** In lines of the page. */
  readonly height?: number;
  readonly decimals?: number;
  readonly thresholds?: readonly Threshold[];
  readonly words?: readonly Word[];
  /** Series have a label `queue`: a click leads to the dashboard of that queue. */
  readonly leadsToQueue?: boolean;
}

/** One number, as it is now. */
export interface StatPanel extends Common {
  readonly type: 'stat';
  /** With the name of the query beside it: where there are several numbers. */
  readonly shows?: 'value' | 'value_and_name';
}

export interface GraphPanel extends Common {
  readonly type: 'graph';
  readonly stacked?: boolean;
  /** The axis ends here at the least. */
  readonly most?: number;
  /** Series whose names fit this are drawn dashed: they bound the others. */
  readonly limits?: RegExp;
}

/** A line for each series, coloured by its value. */
export interface TimelinePanel extends Common {
  readonly type: 'timeline';
}

/** A row for each value of `key`, a column for each query. */
export interface TablePanel extends Common {
  readonly type: 'table';
  readonly key: string;
  readonly columns: Readonly<Record<string, Column>>;
  readonly sortBy: string;
}

export interface Column {
  readonly unit: string;
  readonly decimals?: number;
  readonly thresholds?: readonly Threshold[];
  readonly words?: readonly Word[];
}

export type PanelPlan = StatPanel | GraphPanel | TimelinePanel | TablePanel;

export interface RowPlan {
  readonly title: string;
  readonly panels: readonly PanelPlan[];
}

export interface DashboardPlan {
  /** Never changes: links, and bookmarks of people, lead there. */
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  /** Besides those of every dashboard. */
  readonly variables: readonly 'queue'[];
  readonly rows: readonly RowPlan[];
}

/** How long work that could start may wait for a worker before a person should look, s. */
const SOON = 60;
const LATE = 300;

export const OLD: readonly Threshold[] = [
  { from: 0, color: 'green' },
  { from: SOON, color: 'orange' },
  { from: LATE, color: 'red' },
];

/** Not one of it should be there. */
export const NONE_IS_GOOD: readonly Threshold[] = [
  { from: 0, color: 'green' },
  { from: 1, color: 'red' },
];

export const FEW_ARE_GOOD: readonly Threshold[] = [
  { from: 0, color: 'green' },
  { from: 1, color: 'orange' },
];

/** Of a rate: anything at all. */
export const NOTHING_IS_GOOD: readonly Threshold[] = [
  { from: 0, color: 'green' },
  { from: 0.000001, color: 'orange' },
];

/** Of a number that is told, and not judged. */
export const NEUTRAL: readonly Threshold[] = [{ from: 0, color: 'blue' }];
