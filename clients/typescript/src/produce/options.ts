import { possibleQueue } from '../words/item-limits.js';
import {
  countWithin,
  functionNeeded,
  numberWithin,
  optionsNeeded,
  textNeeded,
  wordWithin,
} from '../words/option-checks.js';
import { runAlone } from '../words/run-alone.js';
import { DURABILITIES, type Durability, type ItemCall, type SubmitResult } from '../words/worker-words.js';

/** What became of an item: accepted or declined by the sidecar, or safe on disk until it can be handed over. */
export type ProducerResult = SubmitResult | { readonly decision: 'spooled'; readonly itemId: string };

export interface SpoolOptions {
  /** Of this producer alone; made if it is not there. What it has from an earlier run is handed over first. */
  readonly directory: string;
  /** What was written is synced to disk after this many ms, 1 to 60,000. Default 50. */
  readonly interval?: number | undefined;
  /** Or after this many items, 1 to 100,000. Default 1,000. */
  readonly count?: number | undefined;
  /** The most that the spool may take on disk, 64 KiB to 1 TiB. Default 256 MiB. Then `whenFull` applies. */
  readonly maxBytes?: number | undefined;
  /** How long a Submit may go unanswered before the sidecar is taken to be away, ms, 1 to 60,000. Default 1,000. */
  readonly patience?: number | undefined;
}

interface CommonOptions {
  /** A batch is sent when it has this many items, 1 to 1,000. Default 100. */
  readonly count?: number | undefined;
  /** Or this many ms after its first item came, 0 to 60,000. Default 5. */
  readonly interval?: number | undefined;
  /** The most items that wait to be accepted, 1 to 1,000,000. Default 10,000. */
  readonly maxItems?: number | undefined;
  /** And the most bytes that they take, 1 KiB to 1 GiB. Default 16 MiB. */
  readonly maxBytes?: number | undefined;
  /**
   * What happens to an item for which there is no room. `wait` (the default): its promise waits for room; at most as much
   * as fits into the buffer may wait so, what comes then gets an error. `error`: a ProducerFullError at once.
   */
  readonly whenFull?: 'wait' | 'error' | undefined;
  /**
   * What has happened when an item is accepted. Unset: as the queue has it. Refused if the queue cannot give it. What is
   * on disk of an earlier run is handed over with that of this one.
   */
  readonly durability?: Durability | undefined;
  /** How long an item is tried to be handed over, ms, 1 to 24 h. Default 60 s. */
  readonly timeout?: number | undefined;
}

export type ProducerOptions = CommonOptions &
  (
    | {
        readonly spool?: undefined;
        /**
         * Told of every item that was not handed over, besides its promise, which may then be left alone (fire and forget). Unset:
         * the promises are the only ones to tell.
         */
        readonly onError?: ProducerErrorHandler | undefined;
      }
    | {
        /** Items are written to disk while the sidecar cannot be reached. */
        readonly spool: SpoolOptions;
        /** Needed: what goes wrong with items on disk has no promise any more. */
        readonly onError: ProducerErrorHandler;
      }
  );

/** @param item which one; unset: it concerns the spool as a whole, and nothing is lost by it */
export type ProducerErrorHandler = (error: unknown, item: ItemCall | undefined) => void;

export interface SpoolChoice {
  readonly directory: string;
  readonly interval: number;
  readonly count: number;
  readonly maxBytes: number;
  readonly patience: number;
}

/** With every default filled in. */
export interface ProducerSettings {
  readonly queue: string;
  readonly count: number;
  readonly interval: number;
  readonly maxItems: number;
  readonly maxBytes: number;
  readonly whenFull: 'wait' | 'error';
  readonly durability: Durability | undefined;
  readonly timeout: number;
  readonly onError: ProducerErrorHandler | undefined;
  readonly spool: SpoolChoice | undefined;
}

const MINUTE = 60_000;
const DAY = 86_400_000;
const MIB = 1_048_576;
const OPTIONS: Readonly<Record<keyof ProducerOptions, true>> = {
  count: true,
  interval: true,
  maxItems: true,
  maxBytes: true,
  whenFull: true,
  timeout: true,
  onError: true,
  durability: true,
  spool: true,
};
const SPOOL_OPTIONS: Readonly<Record<keyof SpoolOptions, true>> = {
  directory: true,
  interval: true,
  count: true,
  maxBytes: true,
  patience: true,
};

/** @throws KeyturnError (INVALID_ARGUMENT) naming what is wrong */
export function producerSettings(queue: string, options: ProducerOptions): ProducerSettings {
  textNeeded('the queue', queue);
  optionsNeeded('the options of producer', options, OPTIONS);
  const {
    count = 100,
    interval = 5,
    maxItems = 10_000,
    maxBytes = 16 * MIB,
    whenFull = 'wait',
    durability,
    timeout = MINUTE,
  } = options;
  countWithin('count', count, 1, 1_000);
  numberWithin('interval', interval, 0, MINUTE);
  countWithin('maxItems', maxItems, 1, 1_000_000);
  countWithin('maxBytes', maxBytes, 1_024, 1_024 * MIB);
  numberWithin('timeout', timeout, 1, DAY);
  wordWithin('whenFull', whenFull, ['wait', 'error']);
  wordWithin('durability', durability, DURABILITIES);
  if (options.onError !== undefined || options.spool !== undefined) functionNeeded('onError', options.onError);
  const spool = options.spool === undefined ? undefined : spoolChoice(options.spool);
  if (spool !== undefined) possibleQueue(queue);
  const onError = options.onError && guarded(options.onError);
  return { queue, count, interval, maxItems, maxBytes, whenFull, durability, timeout, onError, spool };
}

/** The producer goes on whatever the callback does: an error that it throws is a warning of the process. */
function guarded(onError: ProducerErrorHandler): ProducerErrorHandler {
  return (error, item) => runAlone(() => onError(error, item));
}

function spoolChoice(options: SpoolOptions): SpoolChoice {
  optionsNeeded('spool', options, SPOOL_OPTIONS);
  const { directory, interval = 50, count = 1_000, maxBytes = 256 * MIB, patience = 1_000 } = options;
  textNeeded('spool.directory', directory);
  numberWithin('spool.interval', interval, 1, MINUTE);
  countWithin('spool.count', count, 1, 100_000);
  countWithin('spool.maxBytes', maxBytes, 65_536, 1_048_576 * MIB);
  numberWithin('spool.patience', patience, 1, MINUTE);
  return { directory, interval, count, maxBytes, patience };
}
