import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseExecutionConfig } from '../../packages/agent-runtime-core/src/schemas.ts'
import { describe, expect, test } from 'vitest'

const folder = resolve(import.meta.dirname, '../../docs/deploy')
const read = (file: string) => readFileSync(join(folder, file), 'utf8')

describe('the files of docs/deploy.md', () => {
  test('a supervisor waits longer for a worker to end than the worker takes to drain', () => {
    const { drainGraceMs, killGraceMs, cleanupTimeoutMs } = parseExecutionConfig().config
    const drainMs = drainGraceMs + killGraceMs + cleanupTimeoutMs
    const unit = Number(/^TimeoutStopSec=(\d+)$/m.exec(read('agent.service'))?.[1]) * 1_000
    const compose = Number(/stop_grace_period: (\d+)s$/m.exec(read('compose.yaml'))?.[1]) * 1_000
    expect(unit).toBeGreaterThan(drainMs)
    expect(compose).toBeGreaterThan(drainMs)
    for (const file of ['kubernetes.yaml', 'kubernetes-job.yaml'])
      expect(Number(/terminationGracePeriodSeconds: (\d+)$/m.exec(read(file))?.[1]) * 1_000).toBeGreaterThan(
        drainMs,
      )
  })

  test('Node is process 1 of no shell, and gets the SIGTERM', () => {
    expect(read('Dockerfile')).toContain('\nCMD ["node", "worker.ts"]\n')
    expect(read('job.Dockerfile')).toContain('\nENTRYPOINT ["node", ')
  })
})
