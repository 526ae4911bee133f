/** A reporter of Node's test runner: the process ends with the first test that is red, and says its name. */
import { writeSync } from 'node:fs';
import type { TestEvent } from 'node:test/reporters';

export default async function* firstRed(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    if (event.type !== 'test:fail') {
      // Nothing else is told.
      yield '';
      continue;
    }
    // Written at once: what is yielded would come after the end.
    writeSync(1, `${event.data.name}\n`);
    process.exit(1);
  }
}
