import assert from 'node:assert/strict';
import { env } from 'node:process';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { runsOf } from './runs.js';

describe('how often a random test runs', () => {
  const names = ['KEYTURN_RUNS', 'KEYTURN_RUNS_SHARE'] as const;
  const before = names.map((name) => env[name]);
  const forget = () => {
    for (const name of names) delete env[name];
  };
  beforeEach(forget);
  afterEach(() => {
    forget();
    for (const [at, name] of names.entries()) if (before[at] !== undefined) env[name] = before[at];
  });

  it('its usual number', () => assert.equal(runsOf(120), 120));

  it('a share of it, never none', () => {
    env['KEYTURN_RUNS_SHARE'] = '0.25';
    assert.deepEqual([runsOf(120), runsOf(2), runsOf(1)], [30, 1, 1]);
  });

  it('exactly as often as somebody says', () => {
    env['KEYTURN_RUNS'] = '7';
    env['KEYTURN_RUNS_SHARE'] = '0.25';
    assert.equal(runsOf(120), 7);
  });

  for (const name of names) {
    for (const value of ['', '0', '-1', 'many', '1.5']) {
      it(`${name}=${JSON.stringify(value)} is refused: it would test nothing, or nobody knows what`, () => {
        env[name] = value;
        assert.throws(() => runsOf(120), new RegExp(`${name} is ${JSON.stringify(value)}`));
      });
    }
  }
});
