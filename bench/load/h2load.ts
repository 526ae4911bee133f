/** h2load, the load generator of nghttp2: native, so that the server is what is measured. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export const H2LOAD = { needs: 'h2load', install: 'apt-get install nghttp2-client' } as const;

/** Calls at once on one connection. */
const STREAMS = 100;
/** A lap that takes longer than this, ms, is stuck. */
const TIMEOUT = 60_000;

const run = promisify(execFile);

export interface Load {
  /** host:port */
  readonly address: string;
  /** The path of the unary call. */
  readonly path: string;
  /** A file with the request: five bytes of gRPC's prefix and the message. */
  readonly bodyFile: string;
  readonly requests: number;
}

export interface LoadReport {
  readonly perSecond: number;
  readonly succeeded: number;
  /** Bytes of all answers, without headers and trailers. */
  readonly dataBytes: number;
}

export async function runH2load({ address, path, bodyFile, requests }: Load): Promise<LoadReport> {
  const amount = ['-n', String(requests), '-c', '1', '-m', String(STREAMS)];
  const headers = ['-H', 'content-type: application/grpc', '-H', 'te: trailers'];
  const args = [...amount, ...headers, '-d', bodyFile, `http://${address}${path}`];
  const { stdout } = await run('h2load', args, { timeout: TIMEOUT });
  return readReport(stdout);
}

/** Throws, with what was said, when that is not the report of h2load. */
export function readReport(said: string): LoadReport {
  return {
    perSecond: numberIn(said, /finished in [^,]+, ([\d.]+) req\/s/),
    succeeded: numberIn(said, /status codes: (\d+) 2xx/),
    dataBytes: numberIn(said, /\((\d+)\) data/),
  };
}

function numberIn(said: string, pattern: RegExp): number {
  const found = pattern.exec(said)?.[1];
  if (found === undefined) throw new Error(`h2load said something that is not understood:\n${said}`);
  return Number(found);
}
