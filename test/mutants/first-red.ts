/**
 * A reporter of Node's test runner: a dot for each test that is green; with the first that is red the process ends, and says
 * its name.
 */
import { writeSync } from 'node:fs';
import type { TestEvent } from 'node:test/reporters';

export default async function* firstRed(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    if (event.type === 'test:fail') {
      // Written at once: what is yielded would come after the end.
      writeSync(1, `\n${event.data.name}\n`);
      process.exit(1);
    }
    yield event.type === 'test:pass' ? '.' : '';
  }
}
