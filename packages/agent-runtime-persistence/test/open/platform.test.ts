import { describe, expect, test } from 'vitest'
import { assertClockSinceBoot, type Clocks } from '../../src/clock-since-boot.ts'
import { assertNodeSupported } from '../../src/index.ts'
import { systemClocks } from '../../src/system.ts'

const unsupported = (message: string): unknown =>
  expect.objectContaining({ code: 'node_unsupported', message: expect.stringContaining(message) as string })

describe('the systems that a store runs on', () => {
  test.each(['22.18.0', '22.20.1', '24.0.0', '26.0.0', '27.1.0'])('Node.js %s', (version) => {
    expect(() => assertNodeSupported(version)).not.toThrow()
  })

  test.each(['20.19.0', '22.17.1', '23.11.0', '25.0.0'])('not Node.js %s', (version) => {
    expect(() => assertNodeSupported(version)).toThrow(
      unsupported(`Node.js ${version} is not supported: use`),
    )
  })

  test.each([
    [{ bun: '1.4.5' }, 'Bun 1.4.5'],
    [{ deno: '2.9.6' }, 'Deno 2.9.6'],
  ])('not %j, whatever Node.js it stands for', (versions, name) => {
    expect(() => assertNodeSupported('26.3.0', { node: '26.3.0', ...versions })).toThrow(unsupported(name))
    expect(() => assertNodeSupported('26.3.0', { node: '26.3.0', ...versions })).toThrow(
      unsupported('run this program with Node.js'),
    )
  })
})

describe('the clock that judges leases', () => {
  test.each<readonly [string, Clocks]>([
    ['for a process on a machine that never slept', clocks(90_000, 100, 90_000)],
    ['for a process on a machine that slept for a day', clocks(90_000, 100, 86_490_000)],
    ['for a process in a container that shows its own uptime', clocks(90_000, 100, 30_000)],
    [
      'for the first process, on a machine that gives its uptime in whole seconds',
      clocks(1_100, 1_000, 2_000),
    ],
    ['for the first process, on a machine that slept since', clocks(61_000, 60_000, 3_661_000)],
  ])('is accepted %s', (_, given) => {
    expect(() => assertClockSinceBoot(given)).not.toThrow()
  })

  test.each<readonly [string, Clocks]>([
    ['starts with the process', clocks(19, 19, 386_850)],
    ['starts a little before the process', clocks(200, 100, 386_850)],
    ['starts after the process', clocks(60_000, 60_100, 386_850)],
  ])('is refused where it %s', (_, given) => {
    expect(() => assertClockSinceBoot(given)).toThrow(unsupported('counts from the start of the process'))
  })

  test('starts with the machine here', () => {
    const here = systemClocks()
    expect(here).toBeDefined()
    if (here === undefined) return
    expect(() => assertClockSinceBoot(here)).not.toThrow()
    // The same process with a clock of its own, on the same machine.
    const own = {
      ...here,
      monotonicMs: here.processMs,
      machineMs: Math.max(here.machineMs, here.processMs + 60_000),
    }
    expect(() => assertClockSinceBoot(own)).toThrow(unsupported("take each other's leases"))
  })
})

function clocks(monotonicMs: number, processMs: number, machineMs: number): Clocks {
  return { monotonicMs, processMs, machineMs }
}
