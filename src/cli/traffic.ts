/**
 * Made-up HTTP traffic of the shape of a real site's log, for those who have no log at hand.
 *
 * The numbers below were fitted to one public log of 10,000 requests: 85 % of its lines repeat a path, half of the
 * repeats within about 40 lines; 82 % repeat a client, half of them in the very next line; a few paths and clients have
 * most of the lines, and hundreds of each appear once.
 */

import { zipf } from '../designs/zipf.js';

const TRAFFIC_COLUMNS = ['time', 'client', 'method', 'path', 'status', 'bytes'] as const;

/** How many paths the site has. Paths are asked for by Zipf's law: the n-th most popular one in proportion to 1/(n + shift). */
const SITE = { paths: 3_000, shift: 0.5 };

/** How likely a path is one of the last few again (a page and its images), instead of any path of the site. */
const RECENT_PATH = { chance: 0.3, within: 40 };

/** A client comes in bursts: the next line is by a new one, by the same one, else by an earlier one, most likely a recent one. */
const CLIENT = { fresh: 0.175, same: 0.41, recency: 6 };

/** Each status with its share. */
const STATUSES: readonly (readonly [string, number])[] = [
  ['200', 0.913],
  ['304', 0.045],
  ['404', 0.021],
  ['301', 0.021],
];

/** Lines of TSV with a header line, each with its line end. The same seed gives the same lines. */
export function* traffic(seed: number, count: number): Generator<string, void, undefined> {
  const random = seeded(seed);
  const pick = zipf(SITE.paths, SITE.shift);
  const clients: string[] = [];
  const paths: string[] = [];
  let time = 1_431_820_800;
  yield `${TRAFFIC_COLUMNS.join('\t')}\n`;
  for (let i = 0; i < count; i++) {
    const client = nextClient(clients, random);
    const path = nextPath(paths, random, pick);
    remember(clients, client, 10_000);
    remember(paths, path, RECENT_PATH.within);
    time += Math.floor(random() * 3);
    const bytes = Math.floor(400 + random() ** 4 * 200_000);
    yield `${[time, client, random() < 0.995 ? 'GET' : 'HEAD', path, status(random()), bytes].join('\t')}\n`;
  }
}

type Random = () => number;

function nextClient(clients: readonly string[], random: Random): string {
  const dice = random();
  const last = clients.at(-1);
  if (last === undefined || dice < CLIENT.fresh)
    return `client-${Math.floor(random() * 0xffff_ffff)
      .toString(16)
      .padStart(8, '0')}`;
  if (dice < CLIENT.fresh + CLIENT.same) return last;
  return clients.at(-1 - Math.floor(random() ** CLIENT.recency * (clients.length - 1))) ?? last;
}

function nextPath(paths: readonly string[], random: Random, pick: (dice: number) => number): string {
  const recent = random() < RECENT_PATH.chance ? paths.at(-1 - Math.floor(random() * paths.length)) : undefined;
  return recent ?? pathName(pick(random()));
}

const SECTIONS = ['blog', 'docs', 'images', 'projects', 'talks', 'style', 'feeds'] as const;

function pathName(rank: number): string {
  return rank === 0 ? '/' : `/${SECTIONS[rank % SECTIONS.length]}/page-${rank}`;
}

function status(dice: number): string {
  let sum = 0;
  for (const [code, share] of STATUSES) {
    sum += share;
    if (dice < sum) return code;
  }
  return '200';
}

/** The last `limit`, give or take a factor of two: cheaper than to shift at every line. */
function remember(list: string[], value: string, limit: number): void {
  list.push(value);
  if (list.length >= 2 * limit) list.splice(0, limit);
}

/** Mulberry32: 32 bits of state are enough for traffic, and Math.random cannot be seeded. */
function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}
