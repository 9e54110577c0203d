/** Suites that run in one process use its sandboxes one after another, as the runs of an experiment do. */
import { keepSandboxes } from '../src/lab/judge.ts';

keepSandboxes();
