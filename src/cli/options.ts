import type { KeyturnOptions, TlsOptions } from '@keyturn/client';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseAddress } from '../config/address.js';
import { parseDuration } from '../config/duration.js';

/** Readers of option values. What they throw ends the command with the name of the option, the value, and what is allowed. */

function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('A duration is a number and its unit: 250ms, 20s, 5m, 24h.');
  return ms;
}

/** A duration between two bounds, ms. */
export function durationBetween(least: number, most: number, words: string): (text: string) => number {
  return (text) => {
    const ms = duration(text);
    if (ms < least || ms > most) throw new InvalidArgumentError(`Allowed: ${words}.`);
    return ms;
  };
}

/** A whole number between two bounds. */
export function wholeBetween(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`Allowed: a whole number from ${least} to ${most}.`);
  };
}

export function text(value: string): string {
  if (value === '') throw new InvalidArgumentError('It must not be empty.');
  return value;
}

/** For options that may be given again and again. */
export function collect(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}

function address(value: string): string {
  const parsed = parseAddress(value);
  if (parsed === undefined) throw new InvalidArgumentError('An address is host:port, [ipv6]:port or unix:/path.');
  return value;
}

/** Where the sidecar is, and how it is reached. At the end of the options of a command. */
export function sidecarOptions(command: Command): Command {
  return (
    command
      .addOption(
        new Option('--address <address>', 'where the sidecar is: host:port or unix:/path')
          .env('KEYTURN_ADDRESS')
          .default('127.0.0.1:7420')
          .argParser(address),
      )
      .addOption(tlsOption('--token-file <file>', 'who asks: a file with the token', 'KEYTURN_TOKEN_FILE'))
      .option('--insecure', 'send the token to another machine without TLS: anybody on the way can read it')
      .addOption(
        tlsOption(
          '--tls-ca <file>',
          `TLS: the authorities of the sidecar's certificate, PEM, or "${SYSTEM}" for those that Node knows`,
          'KEYTURN_TLS_CA',
        ),
      )
      // Their variables are not those of `serve`: what the sidecar shows is not what its clients show.
      .addOption(tlsOption('--tls-cert <file>', 'the certificate that is shown, PEM', 'KEYTURN_TLS_CLIENT_CERT'))
      .addOption(tlsOption('--tls-key <file>', 'its private key, PEM', 'KEYTURN_TLS_CLIENT_KEY'))
      .addOption(
        tlsOption(
          '--tls-server-name <name>',
          "the name in the sidecar's certificate; unset: the host of the address",
          'KEYTURN_TLS_SERVER_NAME',
        ),
      )
  );
}

function tlsOption(flags: string, what: string, variable: string): Option {
  return new Option(flags, what).env(variable).argParser(text);
}

/** For comparison: what a session saves. */
export function unaryOption(): Option {
  return new Option('--unary', 'every call by itself, instead of all of them on one session');
}

export interface SidecarOptions {
  readonly address: string;
  readonly tokenFile?: string;
  readonly insecure?: boolean;
  readonly tlsCa?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly tlsServerName?: string;
}

/** The word of `--tls-ca` for the authorities that come with Node. */
const SYSTEM = 'system';

/** How a command reaches its sidecar, as the client takes it. */
export function reachOf(options: SidecarOptions): Pick<KeyturnOptions, 'tls' | 'token' | 'insecure'> {
  const { tokenFile, insecure } = options;
  return { tls: tlsOf(options), token: tokenFile === undefined ? undefined : { file: tokenFile }, insecure };
}

/** As the client takes it. Any of the options asks for TLS. */
function tlsOf({ tlsCa, tlsCert, tlsKey, tlsServerName }: SidecarOptions): TlsOptions | undefined {
  if ([tlsCa, tlsCert, tlsKey, tlsServerName].every((option) => option === undefined)) return undefined;
  return { ca: tlsCa === SYSTEM ? undefined : tlsCa, cert: tlsCert, key: tlsKey, serverName: tlsServerName };
}
