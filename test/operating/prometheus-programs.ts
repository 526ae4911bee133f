/** The programs of Prometheus, as Debian has them. */
import type { NeededProgram } from '../support/needed-program.js';

const install = 'Debian: apt-get install prometheus; or the archive of prometheus.io, with its folder in PATH.';

export const PROMTOOL: NeededProgram = { name: 'promtool', install };
export const PROMETHEUS: NeededProgram = { name: 'prometheus', install };
