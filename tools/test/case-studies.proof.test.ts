import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { draws } from '../draws.ts'
import { openRuns as webTesting } from '../../examples/12-web-testing/src/runs.ts'
import { openRuns as contractReview } from '../../examples/13-contract-review/src/runs.ts'
import { openRuns as securityAudit } from '../../examples/14-security-audit/src/runs.ts'

/**
 * The case studies of the scheduler paper, with borders between stages that each of them has. A landing kills each at the first ones: where a stage
 * works, asks a person, asks again, and is answered. Each night kills them at all.
 */
const studies = [
  {
    name: '12-web-testing',
    openRuns: webTesting,
    has: ['recon works', 'load started', 'behavior works', 'observer completed', 'synthesis completed'],
    first: 1,
  },
  {
    name: '13-contract-review',
    openRuns: contractReview,
    has: ['scoring asked again', 'recommendation answered again', 'review answered', 'extraction completed'],
    first: 1,
  },
  {
    name: '14-security-audit',
    openRuns: securityAudit,
    has: ['web asked', 'web answered', 'network completed', 'scanners started', 'report completed'],
    first: 2,
  },
] as const

/** One that takes a minute is judged as slow: its scores are lower then, as they should be. */
const fastMs = 60_000

describe('a case study ends with the same report when its process is killed at any border between stages', () => {
  afterEach(() => void vi.unstubAllEnvs())

  test.each(studies)('$name', { timeout: 600_000 }, async ({ openRuns, has, first }) => {
    const place = mkdtempSync(join(tmpdir(), 'case-study-'))
    // A process that starts with its sources compiled takes half as long.
    vi.stubEnv('NODE_COMPILE_CACHE', process.env['NODE_COMPILE_CACHE'] ?? join(place, 'compiled'))
    try {
      await using runs = await openRuns(place)
      const began = performance.now()
      const whole = await runs.run('undisturbed.db')
      const wholeMs = performance.now() - began
      const told = whole.lines.filter((line) => line.startsWith('border: '))
      const borders = [...new Set(told)].map((line) => line.slice('border: '.length))
      expect(borders).toEqual(expect.arrayContaining([...has]))
      const some = has.slice(0, first)
      for (const [at, border] of draws<readonly string[]>(some, some, borders).entries()) {
        const from = performance.now()
        const killed = await runs.run(`killed-${at}.db`, border)
        const second = await runs.run(`killed-${at}.db`)
        const isInTime = Math.max(wholeMs, performance.now() - from) < fastMs
        expect({
          border,
          signals: [killed.signal, second.signal],
          report: second.line('report: '),
          scores: isInTime && second.line('scores: '),
        }).toEqual({
          border,
          signals: ['SIGKILL', null],
          report: whole.line('report: '),
          scores: isInTime && whole.line('scores: '),
        })
      }
    } finally {
      rmSync(place, { recursive: true, force: true })
    }
  })
})
