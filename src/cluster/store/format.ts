/** The format of rows that this version reads and writes. */
export const FORMAT = 1;
