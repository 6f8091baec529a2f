// Says all that a task left behind, and in which order tasks and workers come, as text: to be the same whatever the machine's language,
// place and time zone. Plain enough for the oldest Node that the packages are for: `pnpm check:packages` runs it there, too.
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'

/** Sorted, folded and formatted differently from place to place. */
const words = [
  'ı',
  'I',
  'i',
  'İ',
  'ä',
  'z',
  'Z',
  'ö',
  'o\u0308',
  'ch',
  'c',
  'aa',
  'å',
  'ß',
  'ss',
  '10',
  '9',
  '１',
]
const numbers = [1e21, 1e-7, 0.1, 1234567.891, -0, 2 ** 53, 5e-324]

const task = defineTask({ type: 'behaviour', input: z.any() }, async (ctx, input) => {
  for (const word of words)
    await ctx.step(word, { input: { [word]: word } }, () => ({ [word]: numbers, word }))
  await ctx.sleepUntil('dawn', new Date('2026-10-25T00:30:00Z'))
  return { ...(input as object), at: new Date('2026-03-29T01:30:00Z'), size: 12345678901234567890n }
})
const test = await createTestRuntime({
  tasks: [task],
  now: new Date('2026-10-24T23:30:00Z'),
  seed: 'places',
  workers: { ids: words, capacity: 1 },
})
const input = Object.fromEntries(words.map((word, n) => [word, n]))
const labels = Object.fromEntries(words.map((word) => [word, word]))
const receipts = await test.runtime.submitMany(
  words.map((word) => ({ task, input, options: { taskId: word, labels } })),
)
for (const receipt of receipts) await test.result(receipt)
await test.runtime.schedules.put('daily', { cron: '30 2 * * *', timeZone: 'Europe/Paris' }, task, input)
for (const receipt of receipts) {
  const [lease] = await test.runtime.leases(receipt.taskId)
  const { events, hash } = await test.record(receipt)
  console.log(receipt.taskId, lease?.workerId, hash, JSON.stringify(events))
}
console.log(JSON.stringify(await test.runtime.schedules.list()))
await test[Symbol.asyncDispose]()
