/** Who could not be asked, from the port to the wire. */
import type { MaybePartial } from '../../coordinator.js';
import type * as wire from '../gen/keyturn/v1/admin.js';

export function unavailableMessages({ unavailable = [] }: MaybePartial): wire.Unavailable[] {
  return unavailable.map(({ partition, why }) => ({ partition, why }));
}
