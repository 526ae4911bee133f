/** What is done to connections, and to the sidecar. */
import { type Fields, isFields } from '../fields.js';
import { durationOf } from '../match/durations.js';
import { shown } from '../match/match.js';
import type { Direction, FaultProxy } from '../process/fault-proxy.js';
import type { Stage } from './stage.js';

export function fault(stage: Stage, body: unknown): void {
  const proxy = proxyOf(stage);
  if (isFields(body) && body['delay'] !== undefined) return proxy.delay(durationOf(body['delay']) ?? 0);
  if (isFields(body) && isFields(body['cut_after'])) {
    for (const [direction, bytes] of Object.entries(body['cut_after'])) {
      proxy.cutAfter(direction as Direction, Number(bytes));
    }
    return;
  }
  switch (body) {
    case 'cut':
      return proxy.cut();
    case 'heal':
      return proxy.heal();
    case 'refuse':
      return proxy.refuse();
    case 'drop_answers':
      return proxy.dropAnswers();
    case 'hold_answers':
      return proxy.holdAnswers();
    case 'silence':
      return proxy.silence();
    default:
      throw new Error(`there is no fault ${shown(body)}`);
  }
}

export function proxyOf({ proxy }: Stage): FaultProxy {
  if (proxy === undefined) throw new Error('a fault needs a proxy: write proxy: true');
  return proxy;
}

export async function sidecar(stage: Stage, body: unknown): Promise<void> {
  if (isFields(body)) return stage.sidecar.restart(isFields(body['restart']) && body['restart']['data'] === 'lost');
  switch (body) {
    case 'kill':
      return stage.sidecar.kill();
    case 'restart':
      return stage.sidecar.restart(false);
    case 'drain':
      return stage.sidecar.drain();
    case 'stop':
      return stage.sidecar.signal('SIGSTOP');
    case 'continue':
      return stage.sidecar.signal('SIGCONT');
    default:
      throw new Error(`a sidecar cannot ${shown(body)}`);
  }
}

/** The process that decides about a group. */
export async function killHome(stage: Stage, { group }: Fields): Promise<void> {
  if (stage.behind === undefined) throw new Error('nothing stands behind this sidecar: write cluster: true');
  await stage.behind.killHome(stage.scenario, String(group));
}
