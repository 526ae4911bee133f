import { LocalCoordinator } from '../../src/local/coordinator.js';
import { describeCoordinator } from './coordinator-contract.js';

describeCoordinator('LocalCoordinator', (settings, clock) => new LocalCoordinator(settings, { clock, seed: 1 }));
