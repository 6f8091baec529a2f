import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { metrics } from '@opentelemetry/api'
import { describe, expect, test } from 'vitest'
import { attachTelemetry } from '../src/index.ts'
import { Scene } from './scene.ts'

const current = '@opentelemetry/api'
const older = 'otel-api-1-9'

/** What is measured of one task that completes. */
const measured = [
  'agent_runtime.lease.stale_writes',
  'agent_runtime.queue.depth',
  'agent_runtime.queue.wait_time',
  'agent_runtime.task.duration',
  'agent_runtime.telemetry.dropped',
  'messaging.client.sent.messages',
  'messaging.process.duration',
]

interface Seen {
  readonly recording: { readonly metrics: boolean; readonly traces: boolean }
  readonly metrics: readonly string[]
  readonly lines: readonly {
    readonly message: string
    readonly apiVersion?: string
    readonly signals?: unknown
  }[]
}

describe('a provider that the application registered', () => {
  test.each([
    ['with the copy of 1.10 that telemetry has', current, current],
    ['with the copy of 1.9 that telemetry has', older, older],
    ['with 1.10, where telemetry has 1.9', older, current],
  ])('%s gets every metric', (_, ours, theirs) => {
    const seen = withCopies(ours, theirs)
    expect(seen.recording).toMatchObject({ metrics: true, traces: true })
    expect(seen.metrics).toEqual(measured)
    expect(seen.lines).toEqual([])
  })

  test('with 1.9, where telemetry has 1.10, cannot be read: one line says so, and what to do', () => {
    const seen = withCopies(current, older)
    expect(seen.recording).toMatchObject({ metrics: false, traces: false })
    expect(seen.metrics).toEqual([])
    expect(seen.lines).toEqual([
      {
        signals: ['metrics', 'traces'],
        apiVersion: '1.9.1',
        message: expect.stringMatching(
          /registered with @opentelemetry\/api 1\.9\.1.*install one version/,
        ) as string,
      },
    ])
  })

  test('where the runtime finds no copy, cannot be read: one line says so, and what to do', () => {
    const seen = withCopies('none', current)
    expect(seen.recording).toMatchObject({ metrics: false, traces: false })
    expect(seen.lines).toEqual([
      {
        signals: ['metrics', 'traces'],
        apiVersion: expect.any(String) as string,
        message: expect.stringMatching(/the runtime finds no copy of it; add @opentelemetry\/api/) as string,
      },
    ])
  })

  test('with another copy brings no line where the runtime was given providers of its own', () => {
    const key = Symbol.for('opentelemetry.js.api.1')
    const shared = globalThis as unknown as Record<symbol, unknown>
    const before = shared[key]
    shared[key] = { version: '1.9.1', metrics: {} }
    try {
      const scene = new Scene()
      const lines: unknown[] = []
      const write = (...line: unknown[]) => void lines.push(line)
      const options = { clock: scene.clock, timers: scene.clock, logger: { warn: write, error: write } }
      attachTelemetry(scene, { ...options, meterProvider: metrics.getMeterProvider() })[Symbol.dispose]()
      expect(lines).toEqual([])
      attachTelemetry(scene, options)[Symbol.dispose]()
      expect(lines).toHaveLength(1)
    } finally {
      shared[key] = before
    }
  })
})

/** What a program sees whose telemetry and whose application import the given copies of the API. */
function withCopies(ours: string, theirs: string): Seen {
  const program = join(import.meta.dirname, 'api-copies.ts')
  const output = execFileSync(process.execPath, [program, ours, theirs], {
    encoding: 'utf8',
    timeout: 200_000,
    // It gives the sources copies of their own: tools/built.ts.
    env: { ...process.env, BUILT_PACKAGES: undefined },
  })
  return JSON.parse(output) as Seen
}
