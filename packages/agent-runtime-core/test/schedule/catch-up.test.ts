import { describe, expect, test } from 'vitest'
import { type CatchUpCase, decideCatchUp } from '../../src/schedule/catch-up.ts'

const three: CatchUpCase = {
  catchUp: 'one',
  due: [100, 200, 300],
  count: 3,
  now: 350,
  graceMs: 50,
  maxCatchUp: 2,
}

describe('which of the times that came are run', () => {
  test.each<[Partial<CatchUpCase>, readonly number[], number]>([
    [{ catchUp: 'one' }, [300], 2],
    [{ catchUp: 'one', now: 9_999 }, [300], 2],
    [{ catchUp: 'all' }, [200, 300], 1],
    [{ catchUp: 'all', maxCatchUp: 9 }, [100, 200, 300], 0],
    [{ catchUp: 'skip' }, [300], 2],
    [{ catchUp: 'skip', now: 351 }, [], 3],
    [{ catchUp: 'skip', graceMs: 0, now: 300 }, [300], 2],
    // More than were listed.
    [{ catchUp: 'all', count: 1_000 }, [200, 300], 998],
  ])('%j: %j, and %i are missed', (change, runs, missed) => {
    expect(decideCatchUp({ ...three, ...change })).toEqual({ runs, missed })
  })

  test.each(['skip', 'one', 'all'] as const)('with %s a single time within its grace is run', (catchUp) => {
    const one = { ...three, catchUp, due: [300], count: 1 }
    expect(decideCatchUp(one)).toEqual({ runs: [300], missed: 0 })
  })
})
