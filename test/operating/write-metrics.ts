/** `npm run docs:metrics`: writes docs/METRICS.md. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../project/repository.js';
import { METRICS_PAGE, metricsPage } from './metrics-page.js';
import { toldMetrics } from './told-metrics.js';

writeFileSync(join(ROOT, METRICS_PAGE), metricsPage(await toldMetrics()));
