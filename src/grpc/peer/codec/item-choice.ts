/** Which dead letters are meant, and how many of them were changed, between sidecars. */
import type { Changed, ItemChoice, LetterFilter } from '../../../coordinator.js';
import { flag, list, maybe, number, object, type Shape, text, word } from './shapes.js';

/** What a version before it knew of a choice is all of it. */
type PlainChoice = Pick<ItemChoice, 'queue' | 'key' | 'itemIds'>;
const plainChoice = { queue: text, key: maybe(text), itemIds: list(text) } as const;
export const choice = object<PlainChoice>(plainChoice);
export const cause = word('max_attempts', 'max_crashes', 'refused', 'dependency');

export const filter = maybe(
  object<LetterFilter>({
    causes: list(cause),
    errorContains: text,
    isGuest: maybe(flag),
    diedAfter: maybe(number),
    diedBefore: maybe(number),
  }),
);
export const narrowChoice = object<ItemChoice>({ ...plainChoice, filter, dryRun: maybe(flag), most: maybe(number) });

/** Of those that fit the choice, all: how many they were is what was chosen. */
export const allOf: Shape<Changed> = {
  read: (value, at) => {
    const done = number.read(value, at);
    return { done, chosen: done };
  },
  write: ({ done }) => number.write(done),
};
export const changedOf = object<Changed>({ done: number, chosen: number, asOf: maybe(number) });
