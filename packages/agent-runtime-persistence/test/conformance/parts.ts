import { storeSuite } from '@ku0/agent-runtime-conformance'
import { describe, expect, test } from 'vitest'
import { nodeDigest } from '../helpers/scratch-folder.ts'
import { Transcripts } from './transcripts.ts'

/** The sections of the suite, by the test file that runs them: in one file they take ten times what a quick file may. */
export const parts = {
  admission: ['admission and backpressure', 'keys and ids'],
  order: ['the order of tasks'],
  workers: ['standing demand', 'preemption', 'placement and the registry', 'why a task is where it is'],
  limits: [
    'quotas',
    'tokens of quotas',
    'quotas that a provider blocks',
    'fair shares',
    'credits',
    'tasks that are often lost to crashes',
    'budgets',
  ],
  leases: [
    'leases and fencing',
    'how a task ends',
    'cancellation',
    'circuits',
    'leases that their callers hold',
    'swarms',
  ],
  handlers: [
    'steps, checkpoints, output',
    'waits and signals',
    'approvals',
    'divergence',
    'children',
    'forks',
  ],
  supervision: ['supervision'],
  pipelines: ['pipelines'],
  records: ['retention', 'schedules', 'evaluations', 'events and hashes', 'reads', 'series', 'access tokens'],
  values: ['values', 'turns and commits'],
} as const

/** Runs a part of the suite on stores in memory. What each test asks, loads and writes has to be as it was recorded. */
export function conformance(part: keyof typeof parts): void {
  const transcripts = new Transcripts(new URL(`transcripts/${part}.txt`, import.meta.url))
  storeSuite('sqlite::memory: inline', transcripts.open, transcripts.tools({ describe, test, expect }), {
    digest: nodeDigest,
    sections: parts[part],
    draws: 0.5,
  })
  test('every transcript is one of a test that there is', () => {
    expect(transcripts.strays).toEqual([])
  })
}
