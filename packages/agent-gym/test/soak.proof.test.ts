import { describe, expect, test } from 'vitest'
import { draws } from '../../../tools/draws.ts'
import { soakCommand } from '../src/cli/soak-command.ts'
import { isBelow, slopeOf } from '../src/soak/slope.ts'

async function soaked(...args: readonly string[]) {
  const said = { out: '', err: '' }
  const screen = (name: 'out' | 'err') => ({ write: (text: string) => ((said[name] += text), true) })
  const code = await soakCommand(
    args,
    { out: screen('out'), err: screen('err') },
    new AbortController().signal,
  )
  return { code, ...said }
}

const leaks: (readonly [leak: string, figures: readonly string[]])[] = [
  ['timer', ['handles, descriptors and timers', 'left 2 s after the end']],
  ['listener', ['listeners more at the end']],
  ['leak', ['heap after a collection']],
]

describe('the soak', () => {
  // A soak is a stage of each landing, too. That it finds a leak a landing shows for the one that two figures tell of, and each night for all.
  test.each(draws(leaks.slice(0, 1), leaks.slice(0, 1), leaks))(
    'R10 finds a planted %s: %s',
    async (leak, figures) => {
      const { code, out } = await soaked('--tasks', '100', '--plant', leak)
      expect(code).toBe(1)
      for (const figure of figures)
        expect(out.split('\n').find((it) => it.includes(figure))).toContain('BROKEN')
    },
  )

  test('a leak that there is not, and a length that is none, are wrong', async () => {
    expect(await soaked('--plant', 'leek')).toMatchObject({
      code: 2,
      err: expect.stringContaining("no leak 'leek'") as string,
    })
    expect(await soaked('--minutes', 'many')).toMatchObject({ code: 2 })
  })

  test.each([
    ['0.3 ± 0.1', 0.3, 0.05, 3, true],
    ['0.45 ± 0.1, which may be above', 0.45, 0.05, 3, false],
    ['0.9 ± 0.25', 0.9, 0.125, 3, false],
    ['0.7 ± 0.16, of so short a run that it rose by nothing', 0.7, 0.08, 0.05, true],
    ['0.9 ± 0.6, of a short run', 0.9, 0.3, 1, true],
    ['1.5 ± 0.6, of a short run', 1.5, 0.3, 1, false],
    ['1.5 ± 0.6, of so short a run that it rose by nothing', 1.5, 0.3, 0.05, true],
  ])('a slope of %s: below 0.5 as far as the run tells', (_, perUnit, error, rise, below) => {
    expect(isBelow({ perUnit, error, rise }, 0.5, 0.1)).toBe(below)
  })

  test('a slope is that of the line through the points, and says how sure it is', () => {
    const line = [0, 1, 2].map((x) => [x, 1 + 2 * x] as const)
    expect(slopeOf(line)).toEqual({ perUnit: 2, error: 0 })
    expect(slopeOf(line.slice(1)).error).toBe(Number.POSITIVE_INFINITY)
    const near = [0, 2, 1, 3].map((y, x) => [x, y] as const)
    expect(slopeOf(near)).toEqual({
      perUnit: expect.closeTo(0.8) as number,
      error: expect.closeTo(Math.sqrt(0.18)) as number,
    })
    expect(() => slopeOf(line.map(([, y]) => [1, y]))).toThrow(RangeError)
  })
})
