/** What the starter of a server asks its probe. */
export const ASKED = { bytes: 'bytes in use', watch: 'watch the loop', pause: 'longest pause' } as const;

export type Asked = (typeof ASKED)[keyof typeof ASKED];
