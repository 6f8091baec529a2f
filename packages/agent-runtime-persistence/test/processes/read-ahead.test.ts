import { describe, expect, it } from 'vitest'
import { ReadAhead } from '../../src/engine/read-ahead.ts'

describe('how many tasks a process reads ahead beside others', () => {
  it('begins with few, since it does not know yet how many it claims', () => {
    expect(new ReadAhead(2_048).size).toBe(8)
  })

  it('reads as many as it claimed between two commits of others', () => {
    const ahead = new ReadAhead(2_048)
    ahead.claimed(250, true)
    ahead.claimed(250, false)
    ahead.claimed(100, false)
    expect(ahead.size).toBe(600)
    ahead.claimed(250, true)
    expect(ahead.size).toBe(600)
    ahead.claimed(10, true)
    expect(ahead.size).toBe(250)
    ahead.claimed(0, true)
    ahead.claimed(0, true)
    expect(ahead.size).toBe(8)
  })

  it('reads no more at once than a process that is alone', () => {
    const ahead = new ReadAhead(256)
    ahead.claimed(10_000, false)
    expect(ahead.size).toBe(256)
  })
})
