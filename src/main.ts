#!/usr/bin/env node
/** The process of a command: its arguments, its pipes, its exit code. */
import { bearClosedPipes } from './cli/closed-pipes.js';
import { runCommand } from './cli/command-line.js';

bearClosedPipes();
process.exitCode = await runCommand(process.argv.slice(2));
