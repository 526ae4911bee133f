/** How many queues live in each partition, as their homes say. */
import type { HomeAnswer } from '../partitions/cluster-view.js';
import { askHome, READ_WITHIN, why } from './asking.js';
import type { Router } from './router.js';

/** Of a partition at a time. */
const FEW = 200;

/** All homes are asked at once. Of a partition without one it is told why there is none. */
export function countQueues(router: Router): Promise<readonly HomeAnswer[]> {
  const { partitions } = router.homes;
  return Promise.all(Array.from({ length: partitions }, (_, partition) => countIn(router, partition)));
}

async function countIn(router: Router, partition: number): Promise<HomeAnswer> {
  const { homes } = router;
  let queues = 0;
  let after = '';
  for (let more = homes.home(partition) !== undefined; more; ) {
    const page = { nameContains: '', after, most: FEW };
    const answer = await askHome(router, partition, READ_WITHIN, (admin) => admin.ask('listQueues', page));
    if (!answer.ok) return { queues, why: why(answer.refusal) };
    for (const { name } of answer.value.queues) if (belongs(router, name, partition)) queues += 1;
    more = answer.value.more;
    after = answer.value.queues.at(-1)?.name ?? after;
  }
  return { queues, why: homes.home(partition) === undefined ? homes.whyNone(partition) : undefined };
}

/** Every partition has the queues that the configuration names: only some have something to do with them. */
function belongs({ map }: Router, queue: string, partition: number): boolean {
  return map.isSpread(queue) ? map.all(queue).includes(partition) : map.of(queue, '') === partition;
}
