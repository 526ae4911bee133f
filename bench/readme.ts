/** The results as the pages show them: made from the kept run, never by hand. */
import type { KeptRow, KeptRun } from './latest.js';
import { judge } from './measure.js';
import { cpuText, figure, rangeOf, withUnit } from './table.js';

interface Marks {
  readonly begin: string;
  readonly end: string;
}

const RESULTS: Marks = {
  begin: '<!-- results of npm run bench: begin -->',
  end: '<!-- results of npm run bench: end -->',
};
const FIGURES: Marks = {
  begin: '<!-- figures of npm run bench: begin -->',
  end: '<!-- figures of npm run bench: end -->',
};
const DURABILITY: Marks = {
  begin: '<!-- durability figures of npm run bench: begin -->',
  end: '<!-- durability figures of npm run bench: end -->',
};

/** What measured the rows of the page on durability. */
const DURABLE_ROWS: ReadonlySet<string> = new Set(['durable', 'recovery', 'choices', 'tenmillion']);

const METHOD =
  'Each row runs in a process of its own, and servers in others, over loopback. Keyturn and its peer take turns, lap by lap; figures are medians of the rounds. The ratio is what counts: the median of those of the rounds, with its 95 % interval (of the values where there is no peer); where there is none, how far the rounds spread. CPU is the time of all threads of the server for an operation, Keyturn / peer, where the row measures it (of the process itself where there is no server; of BullMQ that of its Redis alone). Absolute figures are no claim.';

/** Throws when the page has no place for them. */
export function withResults(page: string, run: KeptRun): string {
  return between(page, RESULTS, renderResults(run));
}

/** What a person with a minute wants to know: the row, a word of its peer or of what it does, and the sentence around it. */
interface Figure {
  readonly row: string;
  readonly about: string;
  readonly sentence: (row: KeptRow) => string;
}

const SHOWN: readonly Figure[] = [
  {
    row: 'session',
    about: 'Redis',
    sentence: (row) =>
      `turns taken and given back on one stream: ${times(row)} as many as a Redis lock on the same machine`,
  },
  {
    row: 'dispatch in',
    about: 'BullMQ',
    sentence: (row) => `items submitted: ${times(row)} as many as BullMQ takes`,
  },
  {
    row: 'dispatch out',
    about: 'BullMQ',
    sentence: (row) => `items processed: ${times(row)} as many as a BullMQ worker`,
  },
  {
    row: 'handover',
    about: 'half take no longer',
    sentence: (row) => `from one worker's end of a turn to the next worker's turn: ${worth(row)} (half take no longer)`,
  },
  {
    row: 'recovery',
    about: 'durable items',
    sentence: (row) => `a restart with a million durable items, until the first turn: ${worth(row)}`,
  },
];

/** The five figures of the README. Throws when the page has no place for them. */
export function withFigures(page: string, { machine, date, rows }: KeptRun): string {
  const lines = SHOWN.map(({ row: name, about, sentence }) => {
    const row = rows.find((one) => one.row === name && `${one.what} ${one.peer ?? ''}`.includes(about));
    return `- ${row === undefined ? `${name}: not measured` : sentence(row)}`;
  });
  return between(page, FIGURES, [`Measured on ${machine}, ${date.slice(0, 10)}:`, '', ...lines].join('\n'));
}

function times({ ratio }: KeptRow): string {
  return ratio === null ? 'not measured,' : `${figure(ratio)} times`;
}

function worth({ value, unit }: KeptRow): string {
  return withUnit(value ?? undefined, unit);
}

/** Those rows that are about the disk. Throws when the page has no place for them. */
export function withDurability(page: string, run: KeptRun): string {
  const rows = run.rows.filter(({ row }) => DURABLE_ROWS.has(row.split(' ')[0] ?? ''));
  return between(page, DURABILITY, rows.length === 0 ? NOTHING_YET : renderResults({ ...run, rows }));
}

const NOTHING_YET = 'Not measured yet: `npm run bench` writes them here.';

function between(page: string, { begin, end }: Marks, text: string): string {
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from < 0 || to < from) throw new Error(`the page has no '${begin}' before a '${end}'`);
  return `${page.slice(0, from + begin.length)}\n\n${text}\n\n${page.slice(to)}`;
}

/** Markdown. */
export function renderResults({ machine, date, commit, rows }: KeptRun): string {
  return [
    `Measured on ${machine}; ${date.slice(0, 10)}, commit \`${commit}\`${apart(rows, machine)}. ${METHOD}`,
    '',
    '| row | what Keyturn does | against | Keyturn | peer | ratio | enough | the aim | reached | 95 % interval | CPU |',
    '|---|---|---|---|---|---|---|---|---|---|---|',
    ...rows.map(lineOf),
  ].join('\n');
}

/** Rows that were measured by themselves, later. */
function apart(rows: readonly KeptRow[], machine: string): string {
  const byRun = new Map<string, Set<string>>();
  for (const { row, apart: own } of rows) {
    if (own === undefined) continue;
    const where = own.machine === machine ? '' : `, ${own.machine}`;
    const when = `${own.date.slice(0, 10)}, commit \`${own.commit}\`${where}`;
    byRun.set(when, (byRun.get(when) ?? new Set()).add(row));
  }
  return [...byRun].map(([when, names]) => `; ${[...names].join(', ')} on ${when}`).join('');
}

function lineOf(row: KeptRow): string {
  const { unit, better } = row;
  const mark = (value: number | null) => (value === null ? '–' : `${better === 'higher' ? '≥' : '≤'} ${figure(value)}`);
  const cells = [
    row.row,
    row.what,
    row.peer ?? '–',
    withUnit(row.value ?? undefined, unit),
    withUnit(row.peer_value ?? undefined, unit),
    figure(row.ratio ?? undefined),
    mark(row.enough),
    mark(row.aim),
    reached(row),
    rangeOf(row.interval ?? undefined, row.spread ?? undefined),
    cpuText(cpuOf(row)),
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function cpuOf({ cpu_us: own, peer_cpu_us: peer }: KeptRow) {
  return own === undefined || own === null ? undefined : { keyturn: own, peer: peer ?? undefined };
}

const REACHED = { aim: 'the aim', enough: 'enough', short: '**short**', measured: '–' } as const;

function reached({ value, ratio, better, enough, aim }: KeptRow): string {
  const judged = ratio ?? value;
  if (judged === null) return 'not measured';
  return REACHED[judge(judged, better, enough ?? undefined, aim ?? undefined)];
}
