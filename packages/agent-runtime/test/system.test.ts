import { describe, expect, onTestFinished, test } from 'vitest'
import { backgroundTimers, systemEnvironment } from '../src/system.ts'

const { clock, timers, ids, random, digest } = systemEnvironment

describe('execution: the real environment', () => {
  test.each([0, 0.3, 1, 2.5, 20])('a timer of %s ms never runs early', async (delayMs) => {
    for (let round = 0; round < 20; round += 1) {
      const begun = clock.monotonic()
      await new Promise<void>((resolve) => timers.after(delayMs, resolve))
      expect(clock.monotonic() - begun).toBeGreaterThanOrEqual(delayMs)
    }
  })

  test('T11 a timer of months waits, is nothing that the platform warns of, and can be cancelled more than once', async () => {
    const warnings: string[] = []
    const hear = ({ name }: Error) => void warnings.push(name)
    process.on('warning', hear)
    onTestFinished(() => void process.off('warning', hear))
    let runs = 0
    const timer = timers.after(2 ** 31, () => (runs += 1))
    await new Promise<void>((resolve) => timers.after(20, resolve))
    timer.cancel()
    timer.cancel()
    expect([runs, warnings]).toEqual([0, []])
  })

  test.each([-1, Number.NaN, Number.POSITIVE_INFINITY])('%s ms is no delay', (delayMs) => {
    expect(() => timers.after(delayMs, () => {})).toThrow('a delay is a finite number of ms')
  })

  test('timers keep the process alive, those that only watch do not', () => {
    const alive = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const idle = alive()
    const armed = [timers.after(60_000, () => {}), backgroundTimers.after(60_000, () => {})]
    expect(alive()).toBe(idle + 1)
    for (const timer of armed) timer.cancel()
    expect(alive()).toBe(idle)
  })

  test('ids, chance and digests are what they are said to be', () => {
    expect(ids.uuid()).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    expect(ids.uuid()).not.toBe(ids.uuid())
    expect(random.next()).toBeGreaterThanOrEqual(0)
    expect(random.next()).toBeLessThan(1)
    const sha256 = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'
    expect(digest.sha256Hex('abc')).toBe(sha256)
    expect(Buffer.from(digest.sha256(Buffer.from('abc'))).toString('hex')).toBe(sha256)
    const before = Date.now()
    const now = clock.now()
    expect([before - 1_000 < now, now < Date.now() + 1_000]).toEqual([true, true])
  })
})
