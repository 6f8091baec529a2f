/**
 * The long tests that take the most time, roughly the longest first. A fresh clone has no record of an earlier run, and begins with the largest files:
 * many of these have one line, which imports the quick tests of the same name.
 */
export const heaviest: readonly string[] = [
  'packages/agent-gym/test/simulation/simulation.proof.test.ts',
  'packages/agent-gym/test/simulation/sim-command.proof.test.ts',
  'packages/agent-runtime-persistence/test/processes/processes.proof.test.ts',
  'packages/agent-runtime/test/durable/crash.proof.test.ts',
  'packages/agent-runtime-persistence/test/model/model.proof.test.ts',
  'packages/agent-runtime-persistence/test/crash/flush-of-every-kind.proof.test.ts',
  'packages/agent-runtime-persistence/test/crash/killed-at-a-place.proof.test.ts',
  'packages/agent-runtime/test/pipeline/crash.proof.test.ts',
  'packages/agent-runtime/test/pool/process-pool.proof.test.ts',
  'packages/agent-runtime-persistence/test/postgres/processes.proof.test.ts',
  'packages/agent-gym/test/promises.proof.test.ts',
  'packages/agent-runtime/test/isolation/isolated-handlers.proof.test.ts',
  'packages/agent-gym/test/gym.proof.test.ts',
  'packages/agent-runtime-console/app/test/console.proof.test.ts',
  'tools/test/case-studies.proof.test.ts',
  'packages/agent-runtime-persistence/test/postgres/conformance.proof.test.ts',
  'packages/agent-runtime-persistence/test/open/conformance-on-disk.proof.test.ts',
  'packages/agent-runtime-server/test/remote/conformance.proof.test.ts',
  'packages/agent-runtime-persistence/test/postgres/faults.proof.test.ts',
  'packages/agent-runtime-persistence/test/care/verify-edits.proof.test.ts',
  'packages/agent-runtime-persistence/test/care/lost-tail.proof.test.ts',
  'packages/agent-gym/test/races.proof.test.ts',
  'packages/agent-runtime-persistence/test/postgres/fail-over.proof.test.ts',
  'tools/test/mistakes.proof.test.ts',
  'tools/test/examples-crash.proof.test.ts',
  'packages/agent-gym/test/histories.proof.test.ts',
]
