/** `npm run dashboards`: writes the files of the dashboards anew. */
import { writeFileSync } from 'node:fs';
import { dashboardFiles } from './dashboards.js';

/** Compiled, this lies in dist/deploy/grafana/source. */
const FOLDER = new URL('../../../../deploy/grafana/', import.meta.url);

for (const { name, text } of dashboardFiles()) writeFileSync(new URL(name, FOLDER), text);
