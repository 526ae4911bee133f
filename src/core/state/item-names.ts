import type { ItemRef } from '../contract/model.js';

/** Of an id in a message to people: several of them have to fit into the trailers of a call. */
const MOST_CHARACTERS = 48;

/** No name of a queue has a space. */
export function nameOf({ queue, itemId }: ItemRef): string {
  return `${queue} ${itemId}`;
}

/** For people. Cut between characters. */
export function told({ queue, itemId }: ItemRef): string {
  const shown = itemId.length <= MOST_CHARACTERS ? itemId : `${[...itemId].slice(0, MOST_CHARACTERS).join('')}…`;
  return `item ${shown} of queue ${queue}`;
}
