import type { Row } from '../row.js';
export const unary: Row = { what: 'x', limit: 1, async run() { return { figures: [] }; } };
