import { describe, expect, test } from 'vitest'
import {
  marketKey,
  marketStageAfter,
  marketStageIn,
  marketStages,
  marketTaskKey,
} from '../../src/market/market.ts'
import { keyText } from '../../src/step/key-text.ts'

describe('13.6 the stages of a job', () => {
  test('13.6 have keys of their own, in words too', () => {
    for (const stage of marketStages) {
      expect(marketStageIn(marketKey(stage))).toBe(stage)
      expect(marketStageIn(marketTaskKey(stage))).toBe(stage)
      expect(keyText(marketKey(stage))).toBe(`stage '${stage}'`)
      expect(keyText(marketTaskKey(stage))).toBe(`the task of stage '${stage}'`)
    }
    const keys = marketStages.flatMap((stage) => [marketKey(stage), marketTaskKey(stage)])
    expect(new Set(keys).size).toBe(12)
    expect(['contract', '$ku0/market/other', '$ku0/stage/contract'].map(marketStageIn)).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })

  test('13.6 follow one another', () => {
    expect(marketStages.map(marketStageAfter)).toEqual([...marketStages.slice(1), 'evaluation'])
  })
})
