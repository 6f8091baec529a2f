import { expect, it } from 'vitest'
import { createSightings, pause } from '../src/run/sightings.ts'
import { createGates } from '../src/work/gates.ts'

const never = new AbortController().signal

it('tells when enough was seen: over all, of a group, in a process', async () => {
  const sightings = createSightings()
  const reached: string[] = []
  const wait = (name: string, about: object) =>
    void sightings
      .reached({ on: 'entered', count: 2, thenMs: 0, ...about }, never)
      .then(() => reached.push(name))
  wait('all', {})
  wait('group', { group: 'a' })
  wait('process', { process: 'one' })
  wait('both', { group: 'a', process: 'one' })
  sightings.see('entered', { group: 'a', process: 'two' })
  sightings.see('left', { group: 'a', process: 'one' })
  sightings.see('entered', { group: 'b', process: 'one' })
  await expect.poll(() => reached).toEqual(['all'])
  sightings.see('entered', { group: 'a', process: 'one' })
  await expect.poll(() => reached.toSorted()).toEqual(['all', 'group', 'process'])
  expect(sightings.describe({ on: 'entered', count: 2, group: 'a', process: 'one', thenMs: 0 })).toBe(
    '1 of 2 entered of group a in process one',
  )
})

it('knows what was seen before it was asked, and gives up with the signal', async () => {
  const sightings = createSightings()
  sightings.see('exited', { process: 'one' })
  await sightings.reached({ on: 'exited', count: 1, process: 'one', thenMs: 1 }, never)
  const abort = new AbortController()
  const waiting = sightings.reached({ on: 'exited', count: 2, thenMs: 0 }, abort.signal)
  abort.abort(new Error('enough'))
  await expect(waiting).rejects.toThrow('enough')
  await expect(pause(60_000, abort.signal)).rejects.toThrow('enough')
})

it('holds at a gate until it is open, then lets everyone through', async () => {
  const gates = createGates(['open'])
  await gates.pass('open')
  const passed: number[] = []
  const waiting = [1, 2].map((n) => gates.pass('shut').then(() => passed.push(n)))
  const abort = new AbortController()
  const aborted = gates.pass('shut', abort.signal)
  abort.abort(new Error('canceled'))
  await expect(aborted).rejects.toThrow('canceled')
  expect(passed).toEqual([])
  gates.open('shut')
  await Promise.all(waiting)
  await gates.pass('shut')
  expect(passed).toEqual([1, 2])
})
