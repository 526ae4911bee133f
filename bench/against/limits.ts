/** How long a row is compared before it is said not to be known well enough, s. */
export const LAPS_SECONDS = 240;
export const RUNS_SECONDS = 600;
/** For the start of servers, and a lap that is on its way. */
export const MARGIN_SECONDS = 120;
