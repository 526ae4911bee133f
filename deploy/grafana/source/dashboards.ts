/** All dashboards, and what their files say. */
import { dashboardJson } from './dashboard-json.js';
import { OVERVIEW } from './overview.js';
import type { DashboardPlan } from './panel.js';
import { PROCESS } from './process.js';
import { QUEUE_DASHBOARD } from './queue.js';

export const PLANS: readonly DashboardPlan[] = [OVERVIEW, QUEUE_DASHBOARD, PROCESS];

/** Below `deploy/grafana/`. */
export interface DashboardFile {
  readonly name: string;
  readonly text: string;
}

export function dashboardFiles(): readonly DashboardFile[] {
  return PLANS.map((plan) => ({
    name: `${plan.uid}.json`,
    text: `${JSON.stringify(dashboardJson(plan, PLANS), null, 2)}\n`,
  }));
}
