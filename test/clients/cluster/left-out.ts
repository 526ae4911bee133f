/** Which scenarios are not played in a cluster, and why. */

/** They say what is so where one sidecar stands alone, and by a rule of docs/SPEC.md is otherwise in a cluster. */
export const CANNOT_HOLD: Readonly<Record<string, string>> = {
  'clients: a sidecar on a Unix socket that begins anew is found again':
    'it begins without turns there; here the gateway begins anew, and turns live on at their home (S290)',
  'errors: BAD_REQUEST names each wrong field of a Submit, and nothing is kept':
    'one of them is a durability that only a durable queue has, and here every queue is (S275)',
  'lives: a turn outlives a sidecar that begins anew and adopts it':
    'startup_hold is refused: every turn is in the store (S275)',
  'lives: tokens grow across a restart, and a turn of the run before is lost':
    'here the gateway begins anew, and turns live on at their home (S290)',
  'lives: a caller that waits when the sidecar is killed gets its turn of the next one':
    'here the gateway begins anew, and the turn that it waits for lives on at its home (S290)',
  'leaders-away: a leader that hands over while its sidecar is away is heard afterwards, however long that was':
    'here the gateway is away, and the home of the group counts the ttl meanwhile (S362)',
  'leaders-away: a sidecar that ends and keeps nothing asks its leaders to hand over':
    'a cluster keeps them: they lead on (S375)',
  'lives: what was kept in memory is gone with the sidecar, and is told so': 'nothing is kept in memory alone (S275)',
};

/** They hold, and are left to runs by hand (`--all`): what they are about is the same code with and without a cluster. */
const SAME: readonly (readonly [RegExp, string])[] = [
  [/^tls: /, 'TLS of a gateway is that of any sidecar'],
  [/^ends: /, 'the client ends these calls by its own clock, with a sidecar that is silent or away'],
  [/^producers: .*spool/, 'a spool is between the client and its disk; that its items arrive once is in the others'],
  [
    /^errors: (another limit says which|payload memory that is full|a queue that nobody named)/,
    'limits of a home; each would start two more of them',
  ],
  [
    /^producers: an item that is declined or refused is told alone$/,
    'limits of a home; it would start two more of them',
  ],
];

/** What differs behind a gateway: sessions and breaks, turns over several homes, items, lives, leaders. TypeScript plays all. */
const OF_OTHERS = /^(connection|lives|turns|items|crossings|leaders): /;
const LEFT_TO_TYPESCRIPT = 'the gateway does the same for every language: TypeScript plays it';

/**
 * @param everything also what is left out only to save time
 * @returns why a scenario is left out; undefined: it is played
 */
export function leftOut(id: string, language: string, everything: boolean): string | undefined {
  const rule = CANNOT_HOLD[id];
  if (rule !== undefined || everything) return rule;
  const same = SAME.find(([scenario]) => scenario.test(id))?.[1];
  if (same !== undefined) return same;
  return language === 'typescript' || OF_OTHERS.test(id) ? undefined : LEFT_TO_TYPESCRIPT;
}
