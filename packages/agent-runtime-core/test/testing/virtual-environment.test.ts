import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createVirtualEnvironment, SeededRandom, testDigest, VirtualClock } from '../../src/testing/index.ts'

describe('VirtualClock', () => {
  test('stands still until it is moved', () => {
    const clock = new VirtualClock(1_000)
    expect([clock.now(), clock.monotonic()]).toStrictEqual([1_000, 0])
    clock.advanceBy(5)
    clock.advanceTo(1_009)
    expect([clock.now(), clock.monotonic()]).toStrictEqual([1_009, 9])
  })

  test('runs timers in the order of time, then of arming, each at its time', () => {
    const delays = fc.array(fc.nat(20), { maxLength: 30 })
    fc.assert(
      fc.property(delays, fc.nat(25), (armed, until) => {
        const clock = new VirtualClock(0)
        const ran: [number, number][] = []
        for (const [i, delay] of armed.entries()) clock.after(delay, () => ran.push([clock.now(), i]))
        clock.advanceTo(until)
        const expected = armed
          .map((delay, i): [number, number] => [delay, i])
          .filter(([delay]) => delay <= until)
          .toSorted((a, b) => a[0] - b[0] || a[1] - b[1])
        expect(ran).toStrictEqual(expected)
        expect(clock.pending).toBe(armed.length - expected.length)
        expect(clock.now()).toBe(until)
      }),
    )
  })

  test('runs what a timer arms, when it is due within the same move', () => {
    const clock = new VirtualClock(0)
    const ran: string[] = []
    clock.after(10, () => {
      clock.after(0, () => ran.push(`now ${clock.now()}`))
      clock.after(5, () => ran.push(`soon ${clock.now()}`))
      clock.after(11, () => ran.push('late'))
    })
    clock.after(10, () => ran.push(`beside ${clock.now()}`))
    clock.advanceBy(20)
    expect(ran).toStrictEqual(['beside 10', 'now 10', 'soon 15'])
    expect(clock.nextAt).toBe(21)
  })

  test('runs a timer at its very time, once', () => {
    const clock = new VirtualClock(0)
    let runs = 0
    clock.after(10, () => (runs += 1))
    clock.advanceBy(9)
    expect(runs).toBe(0)
    clock.advanceBy(1)
    clock.advanceBy(100)
    expect(runs).toBe(1)
    expect(clock.nextAt).toBeUndefined()
  })

  test('does not run what was cancelled, even by a timer of the same time', () => {
    const clock = new VirtualClock(0)
    const ran: string[] = []
    const early = clock.after(1, () => ran.push('early'))
    clock.after(2, () => late.cancel())
    const late = clock.after(2, () => ran.push('late'))
    early.cancel()
    early.cancel()
    clock.advanceBy(5)
    expect(ran).toStrictEqual([])
    expect(clock.pending).toBe(0)
  })

  test('stops at a timer that throws and keeps the rest', () => {
    const clock = new VirtualClock(0)
    const ran: number[] = []
    clock.after(3, () => {
      throw new Error('x')
    })
    clock.after(4, () => ran.push(4))
    expect(() => clock.advanceBy(10)).toThrow('x')
    expect(clock.now()).toBe(3)
    clock.advanceBy(1)
    expect(ran).toStrictEqual([4])
  })

  test('skews the wall clock and nothing else', () => {
    const clock = new VirtualClock(1_000)
    const ahead = clock.withSkew(300_000)
    let ranAt = 0
    ahead.after(10, () => (ranAt = clock.monotonic()))
    clock.skew = -5_000
    clock.advanceBy(20)
    expect([clock.now(), clock.monotonic(), ranAt]).toStrictEqual([-3_980, 20, 10])
    expect([ahead.now(), ahead.monotonic()]).toStrictEqual([296_020, 20])
    clock.advanceTo(1_025)
    expect(clock.monotonic()).toBe(25)
  })

  test.each([-1, Number.NaN, Number.POSITIVE_INFINITY, Symbol('soon') as never])(
    'refuses a delay of %d (docs/reliability.md T11)',
    (delay) => {
      const clock = new VirtualClock()
      const refusal = expect.objectContaining({ code: 'invalid_argument' }) as Error
      expect(() => clock.after(delay, () => {})).toThrow(refusal)
      expect(() => clock.advanceBy(delay)).toThrow(refusal)
      expect(clock.pending).toBe(0)
    },
  )

  test('does not go back', () => {
    const clock = new VirtualClock(1_000)
    clock.advanceBy(10)
    expect(() => clock.advanceTo(1_009)).toThrow('time cannot go back')
  })
})

/** The first draws of seed 1: should they change, every recorded seed means another run. */
const firstDraws = [2335719877, 3777884756, 1069924447, 237428469]

describe('SeededRandom', () => {
  test('repeats itself, on every machine', () => {
    const random = new SeededRandom(1)
    expect(Array.from({ length: 4 }, () => random.bits())).toStrictEqual(firstDraws)
    expect(new SeededRandom('1').bits()).toBe(firstDraws[0])
    expect(new SeededRandom(2).bits()).not.toBe(firstDraws[0])
  })

  test('draws evenly within the bounds', () => {
    const random = new SeededRandom('even')
    const counts = [0, 0, 0, 0, 0, 0, 0, 0]
    let sum = 0
    for (let i = 0; i < 80_000; i += 1) {
      const drawn = random.int(8)
      counts[drawn] = (counts[drawn] ?? 0) + 1
      const next = random.next()
      expect(next >= 0 && next < 1).toBe(true)
      sum += next
    }
    expect(counts).toHaveLength(8)
    // Four standard deviations are 375 of 10 000 and 0.0041 of the mean.
    for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(375)
    expect(Math.abs(sum / 80_000 - 0.5)).toBeLessThan(0.0041)
  })

  test('picks every item', () => {
    const random = new SeededRandom(3)
    const picked = new Set(Array.from({ length: 100 }, () => random.pick(['a', 'b', 'c'])))
    expect([...picked].toSorted()).toStrictEqual(['a', 'b', 'c'])
    expect(() => random.pick([])).toThrow('nothing to pick from')
  })

  test.each([0, -1, 1.5, 2 ** 32 + 1, Number.NaN])('refuses %d as a bound', (bound) => {
    expect(() => new SeededRandom(1).int(bound)).toThrow(
      expect.objectContaining({ code: 'invalid_argument' }),
    )
  })

  test('forks by label, whatever was drawn before', () => {
    const drawn = new SeededRandom(7)
    drawn.bits()
    expect(drawn.fork('a').bits()).toBe(new SeededRandom(7).fork('a').bits())
    const firsts = ['a', 'b', 'c'].map((label) => drawn.fork(label).bits())
    expect(new Set([...firsts, new SeededRandom(7).bits()]).size).toBe(4)
  })
})

describe('testDigest', () => {
  test.each([
    ['', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
    ['abc', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
    [
      'abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq',
      '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1',
    ],
    ['a'.repeat(1_000_000), 'cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0'],
  ])('has the vectors of FIPS 180-4: %.20s', (text, expected) => {
    expect(testDigest.sha256Hex(text)).toBe(expected)
  })

  test('hashes bytes as it hashes a text, and a lone surrogate as U+FFFD', () => {
    expect(Buffer.from(testDigest.sha256(Buffer.from('abc'))).toString('hex')).toBe(
      testDigest.sha256Hex('abc'),
    )
    expect(testDigest.sha256Hex('\ud800x')).toBe(testDigest.sha256Hex('\ufffdx'))
  })
})

describe('createVirtualEnvironment', () => {
  test('gives the same ids and draws for the same seed, and others for another', () => {
    const draw = (seed: number) => {
      const { ids, random, clock } = createVirtualEnvironment(seed, { startAt: 5 })
      return [ids.uuid(), ids.uuid(), random.next(), clock.now()]
    }
    expect(draw(1)).toStrictEqual(draw(1))
    expect(draw(1)[0]).not.toBe(draw(1)[1])
    expect(draw(2)).not.toStrictEqual(draw(1))
  })

  test('makes UUIDs of version 4 that do not repeat', () => {
    const { ids } = createVirtualEnvironment('uuids')
    const drawn = Array.from({ length: 10_000 }, () => ids.uuid())
    expect(new Set(drawn).size).toBe(10_000)
    for (const id of drawn)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  })

  test('has one time line for clock and timers, and the digest it is given', () => {
    const digest = { sha256: (bytes: Uint8Array) => bytes, sha256Hex: (text: string) => text }
    const environment = createVirtualEnvironment(1, { digest })
    expect(environment.timers).toBe(environment.clock)
    expect(environment.digest).toBe(digest)
    expect(createVirtualEnvironment(1).digest).toBe(testDigest)
  })
})
