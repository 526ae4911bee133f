/** Names of other queues in the texts that Keyturn itself writes as the last error of an item. */

/** As `told` writes an item, and of a queue that is not there. Ids are cut by `told`, and may have spaces. */
const NAMED = /(?:item [\s\S]{1,100}? of queue |there is no queue )([A-Za-z0-9._:/-]{1,128})(?=[ ,]|$)/g;

/**
 * The text without the items and queues that its reader may not see. A worker's own error that names a queue in
 * the same words is treated in the same way.
 */
export function withoutForeignNames(text: string, sees: (queue: string) => boolean): string {
  return text.replace(NAMED, (whole, queue: string) => {
    if (sees(queue)) return whole;
    return whole.startsWith('item ') ? 'an item of another queue' : 'there is no queue (hidden)';
  });
}
