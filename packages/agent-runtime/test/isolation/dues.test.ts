import { expect, test } from 'vitest'
import { Dues } from '../../src/isolation/dues.ts'

const use = (tokens: number) => ({ tokens, money: 0, cost: 0 })
const isOver = { isOver: true }

test('a charge of a runner that no write has taken is due when it is no more, once', () => {
  const dues = new Dues()
  expect(dues.afterEnd(isOver)).toEqual({})
  dues.charged(use(3))
  dues.charged(use(4))
  expect(dues.afterEnd({ isOver: false })).toEqual({})
  dues.recorded({ kind: 'recordStep', charged: use(3) }, { fenced: 'ok' })
  dues.recorded({ kind: 'suspend', charged: use(4) }, 'ok')
  dues.recorded({ kind: 'release', charged: use(4) }, 'stale')
  dues.recorded({ kind: 'recordStep', charged: use(4) }, { fenced: 'stale' })
  dues.recorded({ kind: 'abortSettled', charged: use(4) }, false)
  expect(dues.afterEnd(isOver)).toEqual({ charged: use(4) })
  expect(dues.afterEnd(isOver)).toEqual({})
})

test('nothing is due when writes have taken all of it', () => {
  const dues = new Dues()
  dues.charged(use(3))
  dues.recorded({ kind: 'settle', charged: use(3) }, 'ok')
  expect(dues.afterEnd(isOver)).toEqual({})
})
