import type { Command } from 'commander';

/** Options of a group may stand before its command as well: what was said counts, and of both what was said last. */
export function optionsOf<T extends object>(command: Command, group: Command): T {
  const options = { ...command.opts<T>() };
  for (const [name, value] of Object.entries(group.opts())) {
    const isSaid = (one: Command) => !['default', undefined].includes(one.getOptionValueSource(name));
    if (isSaid(group) && !isSaid(command)) Object.assign(options, { [name]: value });
  }
  return options;
}
