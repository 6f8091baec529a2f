import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createIdCodec } from '../../src/store/ids.ts'

const storeId = '0123456789abcdef0'
const ids = createIdCodec(storeId)
const numbers = fc.integer({ min: 1, max: 2 ** 48 - 1 })
const uuid = z.uuid()

describe('ids: numbers inside, UUIDs outside', () => {
  test('the layout is frozen', () => {
    expect(ids.task(1)).toBe('01234567-89ab-81cd-8ef0-000000000001')
    expect(ids.lease(255)).toBe('01234567-89ab-82cd-8ef0-0000000000ff')
  })

  test('a number comes back from its id, which is a UUID', () => {
    fc.assert(
      fc.property(numbers, (number) => {
        expect(ids.taskNumber(ids.task(number))).toBe(number)
        expect(ids.leaseNumber(ids.lease(number))).toBe(number)
        expect(uuid.safeParse(ids.task(number)).success && uuid.safeParse(ids.lease(number)).success).toBe(
          true,
        )
      }),
    )
  })

  test('a task id is no lease id, nor the other way round', () => {
    fc.assert(
      fc.property(numbers, (number) => {
        expect(ids.leaseNumber(ids.task(number))).toBeUndefined()
        expect(ids.taskNumber(ids.lease(number))).toBeUndefined()
      }),
    )
  })

  test('an id of another store is none of this one', () => {
    const other = createIdCodec('0123456789abcdef1')
    expect(ids.taskNumber(other.task(1))).toBeUndefined()
    expect(ids.leaseNumber(other.lease(1))).toBeUndefined()
  })

  test('ids sort like their numbers', () => {
    fc.assert(
      fc.property(numbers, numbers, (a, b) => {
        expect(Math.sign(a - b)).toBe(ids.task(a) < ids.task(b) ? -1 : ids.task(a) === ids.task(b) ? 0 : 1)
      }),
    )
  })

  const good = ids.task(1)
  test.each([
    ['nothing', ''],
    ['a word', 'pr-17'],
    ['number 0', `${good.slice(0, 24)}000000000000`],
    ['a sign', `${good.slice(0, 24)}-00000000001`],
    ['capitals', ids.task(0xabcdef).toUpperCase()],
    ['no hex', `${good.slice(0, 24)}00000000000g`],
    ['two numbers', `${good}${good}`],
    ['a number before it', `0${good.slice(0, -1)}`],
    ['one too many', `${good}0`],
    ['one too few', good.slice(0, -1)],
    ['white space', ` ${good}`],
    ['a line break at the end', `${good.slice(0, 35)}\n`],
    ['another version', `${good.slice(0, 14)}4${good.slice(15)}`],
  ])('%s is no id', (_, id) => {
    expect(ids.taskNumber(id)).toBeUndefined()
    expect(ids.leaseNumber(id)).toBeUndefined()
  })

  test('no string at all makes it throw', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 40 }), (id) => {
        expect(ids.taskNumber(id)).toBeUndefined()
      }),
    )
  })

  test.each(['', '0123456789abcdef', '0123456789abcdef01', '0123456789ABCDEF0', '0123456789abcdefg'])(
    'a store id is 17 hex digits, not %j',
    (bad) => {
      expect(() => createIdCodec(bad)).toThrow(TypeError)
    },
  )
})

describe('the ids of a store in its third incarnation (docs/reliability.md D25)', () => {
  const first = { storeId, tasks: 10, leases: 4 }
  const second = { storeId: '0123456789abcdef1', tasks: 12, leases: 4 }
  const third = '0123456789abcdef2'
  const codecOf = () => createIdCodec(third, [first, second])
  const inFirst = createIdCodec(storeId)
  const inSecond = createIdCodec(second.storeId, [first])

  test('are what they were in the one that gave them', () => {
    const codec = codecOf()
    const tasks = [1, 10, 11, 12, 13].map((number) => codec.task(number))
    expect(tasks).toEqual([
      inFirst.task(1),
      inFirst.task(10),
      inSecond.task(11),
      inSecond.task(12),
      createIdCodec(third).task(13),
    ])
    expect(tasks.map((id) => codec.taskNumber(id))).toEqual([1, 10, 11, 12, 13])
    expect([4, 5].map((number) => codec.lease(number))).toEqual([
      inFirst.lease(4),
      createIdCodec(third).lease(5),
    ])
    expect([4, 5].map((number) => codec.leaseNumber(codec.lease(number)))).toEqual([4, 5])
  })

  test('are none of those that an earlier one gave to what was lost', () => {
    const codec = codecOf()
    for (const lost of [inFirst.task(11), inSecond.task(13), createIdCodec(third).task(12)])
      expect(codec.taskNumber(lost)).toBeUndefined()
    for (const lost of [inFirst.lease(5), createIdCodec(second.storeId).lease(4), inSecond.lease(5)])
      expect(codec.leaseNumber(lost)).toBeUndefined()
  })

  test('counters begin again above the earlier ones, and end with them', () => {
    const codec = codecOf()
    const bounds = [10, 11, 12, 13].map((number) => codec.task(number).slice(0, 23))
    const prefixes = [storeId, second.storeId, third].map((id) => createIdCodec(id).task(1).slice(0, 23))
    expect(bounds).toEqual([prefixes[0], prefixes[1], prefixes[1], prefixes[2]])
    expect(codec.taskNumber(createIdCodec(second.storeId).task(10))).toBeUndefined()
    expect(codec.taskNumber(createIdCodec(second.storeId).task(11))).toBe(11)
  })

  test('say what a store id is when one is not', () => {
    expect(() => createIdCodec('x')).toThrow('a store id is 17 hex digits')
    expect(() => createIdCodec(`${storeId}\n`)).toThrow(TypeError)
    expect(() => createIdCodec(`x${storeId}`)).toThrow(TypeError)
  })

  test('have the form of any', () => {
    const codec = codecOf()
    expect(codec.taskNumber(`${inFirst.task(1)}0`)).toBeUndefined()
    expect(() => createIdCodec(third, [{ ...first, storeId: 'x' }])).toThrow(TypeError)
  })
})
