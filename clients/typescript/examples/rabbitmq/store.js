/**
 * Stands for whatever your workers write to, and shows what it does with the token of a turn.
 *
 * Tokens of a key only grow. A worker that was paused in the middle of its work, for so long that its turn was given to
 * somebody else, does not know it yet when it goes on. Its token tells: it is smaller than one that was seen before.
 *
 * In a database it is a column beside the data:
 *
 *     UPDATE thumbnails SET image = $image, token = $token WHERE photo = $photo AND token <= $token
 */
import { createServer } from 'node:http';

const { STORE_PORT = '8080' } = process.env;

/** The largest token seen, by photo. @type {Map<string, number>} */
const newest = new Map();

/** @type {import('node:http').RequestListener} */
function answer(request, response) {
  const { method, url = '', headers } = request;
  const photo = url.split('/')[2] ?? '';
  const token = Number(headers['fencing-token']);
  const stale = !(token >= (newest.get(photo) ?? 0));
  if (!stale) newest.set(photo, token);
  const { worker } = headers;
  console.log(JSON.stringify({ at: Date.now(), method, photo, token, stale, worker }));
  request.resume();
  response.statusCode = stale ? 412 : 200;
  response.end(stale ? `the token is ${token}, but ${newest.get(photo)} was here` : photo);
}

const server = createServer(answer).listen(Number(STORE_PORT), '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object') console.log(JSON.stringify({ listening: address?.port }));
});
