import { nextReputation } from '@ku0/agent-runtime-core'
import { describe, expect, test } from 'vitest'
import { ChildStore } from '../helpers/child-store.ts'
import { stage, judged, historyOf } from './evaluations-scene.ts'

describe('evaluations of a file', () => {
  test('15.3 evaluations of two processes at once are folded one after another, none lost', async () => {
    const { path, open } = stage()
    const [one, two] = await Promise.all([ChildStore.open({ path }), ChildStore.open({ path })])
    for (let n = 1; n <= 100; n += 1) {
      one.send(judged(n, { taskId: 'one' }))
      two.send(judged(-n, { taskId: 'two' }))
    }
    for (const child of [one, two]) {
      await child.heard(({ answer }) => answer !== undefined, 100)
      expect(await child.end()).toBe(0)
    }
    const scene = await open()
    const all = await historyOf(scene)
    expect(all.map(({ seq }) => seq)).toEqual(Array.from({ length: 200 }, (_, index) => index + 1))
    expect(all.filter(({ taskId }) => taskId === 'one')).toHaveLength(100)
    let reputation: number | undefined
    for (const it of all) {
      reputation = nextReputation(reputation, it.composite)
      expect(it.reputation).toBe(reputation)
    }
    expect(await scene.read({ kind: 'reputation', agentId: 'ada' })).toMatchObject({
      reputation,
      evaluations: 200,
    })
  })

  test('15.3 count once when a process dies before it could answer and another says them again', async () => {
    const { path, open } = stage()
    const first = await ChildStore.open({ path })
    for (let n = 1; n <= 60; n += 1) first.send(judged(n, { key: `review ${n}` }))
    await first.heard(({ answer }) => answer !== undefined, 10)
    await first.kill()
    const second = await ChildStore.open({ path })
    for (let n = 1; n <= 60; n += 1) second.send(judged(n, { key: `review ${n}` }))
    await second.heard(({ answer }) => answer !== undefined, 60)
    expect(await second.end()).toBe(0)
    const all = await historyOf(await open())
    expect(all.map(({ key }) => key)).toEqual(Array.from({ length: 60 }, (_, index) => `review ${index + 1}`))
  })
})
