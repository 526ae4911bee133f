/** `keyturn token new`: makes a token, and the line for the file of tokens. */
import type { Command } from 'commander';
import { stringify } from 'yaml';
import { isName } from '../access/principal.js';
import { hashOf, newToken } from '../access/tokens.js';
import { EXIT } from './exit-codes.js';
import { CommandFailure } from './failure.js';

const HELP = `
The token is printed once and kept nowhere: give it to whoever is NAME. The line goes into the file that auth.tokens names;
it has the token's hash, of which nobody can make the token. A running sidecar reads the file again by itself.

Examples:
  $ keyturn token new orders-worker
  $ keyturn token new ops --json | jq -r .token
`;

interface TokenOptions {
  readonly json?: boolean;
}

export function registerToken(program: Command): void {
  const token = program
    .command('token')
    .summary('make tokens')
    .description('Makes tokens for those who ask a sidecar.');
  token
    .command('new <name>')
    .summary('make a token')
    .description('Prints a new token, and the line for the file of tokens.')
    .option('--json', 'one JSON document')
    .addHelpText('after', HELP)
    .action((name: string, { json }: TokenOptions) => print(name, json === true));
}

function print(name: string, json: boolean): void {
  if (!isName(name))
    throw new CommandFailure(
      `${JSON.stringify(name.slice(0, 80))} is no name of a principal; allowed are 1 to 255 characters without control characters`,
      EXIT.usage,
    );
  const token = newToken();
  const sha256 = hashOf(token);
  if (json) {
    process.stdout.write(`${JSON.stringify({ name, token, sha256 })}\n`);
    return;
  }
  const line = stringify({ [name]: { sha256 } }, { collectionStyle: 'flow', lineWidth: 0 })
    .trim()
    .replace(/^\{ (.*) \}$/s, '$1');
  process.stdout.write(`${token}\n\nFor the file of tokens (auth.tokens):\n${line}\n`);
}
