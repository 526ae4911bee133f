/** The engines that this version knows beside a single Redis, whose addresses `redis/address.ts` takes apart. */
import type { EngineForm } from './engine-address.js';

/** Of `store`, and of `registry`. */
export const STORE_FORMS: readonly EngineForm[] = [];
/** Of `registry` alone. */
export const REGISTRY_FORMS: readonly EngineForm[] = [];
