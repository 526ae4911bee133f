/** A process of its own that opens a store and says how that went: what Node trusts is said at the start of a process. */
import { openRedisStore } from '../../../src/cluster/store/redis/redis-store.js';

try {
  const store = await openRedisStore(process.argv[2] ?? '', { cluster: 'keyturn' });
  const [guard] = await store.guards(1);
  console.log(JSON.stringify({ name: store.name, epoch: guard?.epoch }));
  await store.close();
} catch (error) {
  console.log(JSON.stringify({ error: String(error) }));
}
