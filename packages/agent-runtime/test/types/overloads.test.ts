import { describe, expectTypeOf, test } from 'vitest'
import type { Client, Schedules, TaskContext, TaskType } from '../../src/index.ts'

// Compilers tell of the last overload when none fits, and most calls name a definition. `Parameters` reads the last overload, too.
describe('the overload that takes a definition is the one that errors name', () => {
  test('the types of submit, spawn, call and schedules.put', () => {
    expectTypeOf<Parameters<Client['submit']>[0]>().toEqualTypeOf<TaskType>()
    expectTypeOf<Parameters<TaskContext['spawn']>[1]>().toEqualTypeOf<TaskType>()
    expectTypeOf<Parameters<TaskContext['call']>[1]>().toEqualTypeOf<TaskType>()
    expectTypeOf<Parameters<Schedules['put']>[2]>().toEqualTypeOf<TaskType>()
  })
})
