/**
 * A job that runs once in a fleet, however many machines have it: only the leader runs it, every EVERY_MS, and hands over which
 * run was the last. A leader that is lost in the middle of a run leaves that of the hand-over before, so its run is repeated.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '@keyturn/client';

const { KEYTURN_ADDRESS = '127.0.0.1:7420', GROUP = 'nightly', EVERY_MS = '86400000' } = process.env;
const every = Number(EVERY_MS);

const keyturn = connect(KEYTURN_ADDRESS);
let last = 0;

const leadership = keyturn.lead(GROUP, {
  inaugurate(_term, { state }) {
    last = Number(Buffer.from(state).toString() || 0);
  },
  async execute(term, signal) {
    while (!signal.aborted) {
      const run = Math.floor(Date.now() / every);
      if (run > last) {
        console.log(JSON.stringify({ run, term }));
        last = run;
      }
      // Asked to hand over, it does not finish its sleep.
      await sleep((run + 1) * every - Date.now(), undefined, { signal }).catch(() => undefined);
    }
  },
  handOver: () => String(last),
});

const stop = async () => {
  await leadership.stop();
  await keyturn.close();
};
process.once('SIGTERM', () => void stop());
process.once('SIGINT', () => void stop());
