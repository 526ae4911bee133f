/** Ids that are made here begin with this; what begins so cannot be chosen by a client. */
export const OWN_ID = '~';
