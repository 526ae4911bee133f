import type { Flags } from '../../config/config.js';

export interface ServeFlags extends Flags {
  readonly checkConfig?: boolean;
  readonly printConfig?: boolean;
}
