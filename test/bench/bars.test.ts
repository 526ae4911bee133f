/** The picture of the row `designs`. */
import { deepStrictEqual, match, ok } from 'node:assert/strict';
import { test } from 'node:test';
import { renderBars } from '../../bench/bars.js';

const picture = renderBars({
  title: 'Waits & more',
  told: 'ms, of <some>',
  inner: 'needlessly',
  bars: [
    { name: 'one', value: 1_000, bounds: { low: 100, high: 10_000 }, part: 100 },
    { name: 'none', value: 0, bounds: undefined, part: 0 },
  ],
});

/** The widths of bars and of what is within, without the paper and the sign of the legend. */
const widths = [...picture.matchAll(/<rect x="180" y="\d+" width="([\d.]+)"/g)].map(([, width]) => Number(width));

test('a bar is as long as the logarithm of its value, and what is nothing has no length', () => {
  // Four decades in 490 units.
  deepStrictEqual(widths, [367.5, 245, 0, 0]);
});

test('it is told aloud, by light and in the dark', () => {
  match(picture, /role="img" aria-labelledby="title desc"/);
  match(picture, /<title id="title">Waits &amp; more<\/title>/);
  match(
    picture,
    /<desc id="desc">ms, of &lt;some&gt; one: 1,000 ms, needlessly 100 ms; none: 0 ms, needlessly 0 ms\.<\/desc>/,
  );
  match(picture, /prefers-color-scheme: dark/);
  ok(!/fill="#|stroke="#/.test(picture), 'a colour that does not change in the dark');
});
