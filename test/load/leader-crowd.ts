/** One process of many workers: stands in every group of which it has a candidate. `GROUPS PROCESSES NUMBER TTL` say which. */
import { once } from 'node:events';
import { connect, type LeaderCareer } from '@keyturn/client';

/** Candidates of a group, each of another process, as far as there are some. */
const CANDIDATES = 3;

const [address = '', groups = '1', processes = '1', number = '0', ttl = '5000'] = process.argv.slice(2);
const keyturn = connect(address);
let told = 0;
let standing = 0;

function tell(word: string): void {
  if (groups === '1') process.stdout.write(`${word}\n`);
}

function first(): () => void {
  let isFirst = true;
  return () => {
    if (isFirst) told += 1;
    isFirst = false;
    if (told === standing) process.stdout.write('all told\n');
  };
}

function career(): LeaderCareer {
  const heard = first();
  return {
    standing: () => {
      heard();
      tell('stands');
    },
    inaugurate: () => tell('inaugurated'),
    execute: async (_term, signal) => {
      heard();
      tell('leads');
      if (!signal.aborted) await once(signal, 'abort');
    },
  };
}

const mine: string[] = [];
for (let group = 0; group < Number(groups); group += 1)
  if ((Number(number) - group + Number(groups) * Number(processes)) % Number(processes) < CANDIDATES)
    mine.push(`group-${group}`);
standing = mine.length;
for (const group of mine) keyturn.lead(group, career(), { ttl: Number(ttl) });
