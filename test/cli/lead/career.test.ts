/** The phases of a career one by one, in this process: what a command does to the file of state, and how it ends. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { TermLostError } from '@keyturn/client';
import { CommandCareer } from '../../../src/cli/lead/command-career.js';
import { StateFile } from '../../../src/cli/lead/state-file.js';
import { temporaryFolder, until } from '../keyturn-process.js';

interface Phases {
  readonly command?: readonly string[];
  readonly inaugurate?: string;
  readonly handOver?: string;
  readonly killAfter?: number;
  readonly once?: boolean;
}

/** A term that nobody takes away, unless the test does. */
class Term {
  readonly said: string[] = [];
  readonly endings: (readonly [exitCode: number, isLost: boolean])[] = [];
  readonly lost = new AbortController();
  readonly #career: CommandCareer;

  private constructor(
    readonly stateFile: StateFile,
    { command = ['true'], inaugurate, handOver, killAfter = 1_000, once = true }: Phases,
  ) {
    this.#career = new CommandCareer({
      group: 'g',
      command,
      inaugurate,
      handOver,
      killAfter,
      margin: 100,
      stateFile,
      once,
      say: (text) => void this.said.push(text),
      standing: () => {},
      ended: (exitCode, isLost) => void this.endings.push([exitCode, isLost]),
    });
  }

  static async begin(t: TestContext, phases: Phases, state = 'kept\n'): Promise<Term> {
    const stateFile = await StateFile.make();
    t.after(() => stateFile.remove());
    const term = new Term(stateFile, phases);
    const predecessor = { candidateId: 'before', how: 'handed_over', state: Buffer.from(state), term: 6 } as const;
    await term.#career.inaugurate(7, predecessor, term.lost.signal);
    return term;
  }

  execute(): Promise<void> {
    const { signal } = this.lost;
    return this.#career.execute(7, signal, { lost: signal, progress: () => {} });
  }

  handOver(): Promise<Uint8Array> {
    return this.#career.handOver('yield', 10_000, this.lost.signal);
  }
}

describe('a career as commands', { concurrency: true }, () => {
  it('gives --inaugurate what the predecessor left, and hands over what --hand-over leaves', async (t) => {
    const shown = join(await temporaryFolder(t), 'shown');
    const inaugurate = `echo "$KEYTURN_GROUP $KEYTURN_TERM $KEYTURN_PREDECESSOR $KEYTURN_PREDECESSOR_HOW: $(cat "$KEYTURN_STATE_FILE")" > ${shown}`;
    const term = await Term.begin(t, { inaugurate, handOver: 'echo 17 > "$KEYTURN_STATE_FILE"' });
    assert.equal(await readFile(shown, 'utf8'), 'g 7 before HANDED_OVER: kept\n');
    await term.execute();
    assert.deepEqual(term.endings, [[0, false]]);
    assert.equal(Buffer.from(await term.handOver()).toString(), '17\n');
    assert.deepEqual(term.said, ['leading group g, term 7', 'handing group g over, with 3 bytes of state']);
  });

  for (const [what, handOver, why] of [
    ['fails', 'exit 4', '--hand-over ended with 4'],
    ['leaves too much', 'head -c 65537 /dev/zero > "$KEYTURN_STATE_FILE"', 'has 65537 bytes'],
    ['leaves nothing, and removes the file', 'rm "$KEYTURN_STATE_FILE"', 'no such file'],
    ['leaves a pipe', 'rm "$KEYTURN_STATE_FILE"; mkfifo "$KEYTURN_STATE_FILE"', 'is no file any more'],
    ['leaves what never ends', 'ln -sf /dev/zero "$KEYTURN_STATE_FILE"', 'is no file any more'],
    ['leaves a folder', 'rm "$KEYTURN_STATE_FILE"; mkdir "$KEYTURN_STATE_FILE"', 'is no file any more'],
  ] as const) {
    it(`S408: hands no state over when the hand-over ${what}`, async (t) => {
      const term = await Term.begin(t, { handOver });
      await assert.rejects(term.handOver(), ({ message }: Error) => message.includes(why));
      assert.ok(term.said.at(-1)?.includes(why), term.said.join('\n'));
    });
  }

  it('kills a --hand-over that hangs when the term is lost, and what it wrote is not handed over', async (t) => {
    const half = join(await temporaryFolder(t), 'half');
    const hangs = `echo half > "$KEYTURN_STATE_FILE"; trap "" TERM; touch ${half}; while :; do sleep 0.05; done`;
    const term = await Term.begin(t, { handOver: hangs, killAfter: 200 });
    const rejected = assert.rejects(term.handOver(), /--hand-over ended with 137/);
    await until('it hangs', () => readFile(half).then(Boolean, () => false));
    term.lost.abort(new TermLostError('g', 7, 'ttl', 1_000));
    await rejected;
    assert.deepEqual(term.endings, [[137, true]]);
  });

  it('says 127 when there is no such command', async (t) => {
    const term = await Term.begin(t, { command: ['no-such-command-here'] });
    await assert.rejects(term.execute());
    assert.deepEqual(term.endings, [[127, false]]);
    assert.ok(term.said.includes('no-such-command-here: command not found'));
  });

  it('S408: starts a command that ends at once no more often than once a second', async (t) => {
    const term = await Term.begin(t, { once: false });
    const began = performance.now();
    await term.execute();
    assert.ok(performance.now() - began >= 995, `${performance.now() - began} ms`);
  });

  it('finds its state in a file that is nobody else’s', async (t) => {
    const term = await Term.begin(t, {}, 'mine');
    await writeFile(term.stateFile.path, 'changed');
    assert.equal(Buffer.from(await term.handOver()).toString(), 'changed');
  });
});
