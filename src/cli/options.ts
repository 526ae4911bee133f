import { InvalidArgumentError, Option } from 'commander';
import { parseAddress } from '../config/address.js';
import { parseDuration } from '../config/duration.js';

/** Readers of option values. What they throw ends the command with the name of the option, the value, and what is allowed. */

export function duration(text: string): number {
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

/** Where the sidecar is. */
export function addressOption(): Option {
  return new Option('--address <address>', 'where the sidecar is: host:port or unix:/path')
    .env('KEYTURN_ADDRESS')
    .default('127.0.0.1:7420')
    .argParser(address);
}

/** For comparison: what a session saves. */
export function unaryOption(): Option {
  return new Option('--unary', 'every call by itself, instead of all of them on one session');
}

export interface AddressOptions {
  readonly address: string;
}
