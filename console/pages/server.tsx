/** The sidecar that serves this page, and who it takes one for. */
import { useEffect } from 'preact/hooks';
import { now } from '../live/tab.js';
import { Heading, whoAmI } from '../parts/shell.js';
import { Text } from '../parts/small.js';
import { offset } from '../wire/clock.js';
import { clockTime, lengthOf } from '../words/times.js';
import { readSession } from './login.js';

export function Server() {
  useEffect(() => void readSession(), []);
  const who = whoAmI.value;
  const off = Math.abs(offset());
  return (
    <>
      <Heading title="Server">Server</Heading>
      <dl class="facts part">
        <div>
          <dt>Version</dt>
          <dd>
            <Text of={who?.version} />
          </dd>
        </div>
        <div>
          <dt>You are</dt>
          <dd>{who === undefined || who.principal === '' ? 'not asked who you are' : <Text of={who.principal} />}</dd>
        </div>
        <div>
          <dt>Its clock</dt>
          <dd>
            {clockTime(now.value, now.value)}
            {off < 1_000 ? '' : `, ${lengthOf(off)} ${offset() > 0 ? 'before' : 'behind'} that of this browser`}
          </dd>
        </div>
      </dl>
    </>
  );
}
