/** The work, as it would be without Keyturn, but for two things: it stops when told, and it hands the token on. */
import { setTimeout as sleep } from 'node:timers/promises';

const { STORE_URL = 'http://127.0.0.1:8080', RENDER_MS = '100' } = process.env;

/**
 * @param {string} photo
 * @param {import('@keyturn/client').HeldKey} turn
 */
export async function makeThumbnail(photo, { token, signal }) {
  const headers = { 'fencing-token': String(token), worker: String(process.pid) };
  const source = await fetch(`${STORE_URL}/photos/${photo}`, { headers, signal });
  await check(source);
  const image = await source.text();
  // The signal aborts when the turn is lost: whoever has it now does the work again, ours is of no use.
  await sleep(Number(RENDER_MS), undefined, { signal });
  const target = `${STORE_URL}/thumbnails/${photo}`;
  await check(await fetch(target, { method: 'PUT', body: `small ${image}`, headers, signal }));
}

/** @param {Response} response */
async function check(response) {
  if (!response.ok) throw new Error(`${response.url}: ${response.status} ${await response.text()}`);
}
