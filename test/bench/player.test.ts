import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LoadPlayer, NotThere } from '../../bench/load/player.js';
import { startSidecar } from '../../bench/load/server-process.js';

test('a player does pairs on a sidecar, and how many a second is told', async () => {
  const sidecar = await startSidecar();
  try {
    const player = await LoadPlayer.start('typescript', sidecar.address);
    assert.ok((await player.pairs('bench', { keys: 10, inFlight: 4, seconds: 0.2 })) > 10);
    await player.stop();
  } finally {
    await sidecar.stop();
  }
});

test('a language without a player is named, with what brings it', async () => {
  await assert.rejects(LoadPlayer.start('cobol', '127.0.0.1:1'), (error) => {
    assert.ok(error instanceof NotThere);
    assert.deepEqual(error.program, { needs: 'the player of cobol', install: 'clients/cobol/prepare' });
    return true;
  });
});
