import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { folder, runWith } from '../real-processes.ts'

const MB = 1_048_576

describe('execution: many tasks that wait', () => {
  // The garbage of both threads is kept small, so that what the process weighs is what it holds.
  const tight = ['--expose-gc', '--max-semi-space-size=1', '--max-old-space-size=48']

  test('ten thousand waits hold no slot, and weigh less than 20 MB in the process', async () => {
    const program = runWith(
      tight,
      new URL('../processes/waiting.ts', import.meta.url),
      join(folder(), 'a.db'),
    )
    await program.said('done')
    const [few, many] = program.lines
      .filter((line) => line.startsWith('weighs '))
      .map(
        (line) =>
          JSON.parse(line.slice('weighs '.length)) as Record<
            'waiting' | 'running' | 'inFlight' | 'rss' | 'heapUsed',
            number
          >,
      )
    expect(many).toMatchObject({ waiting: 15_000, running: 0, inFlight: 0 })
    expect(((many?.rss ?? 0) - (few?.rss ?? 0)) / MB).toBeLessThan(20)
    expect(((many?.heapUsed ?? 0) - (few?.heapUsed ?? 0)) / MB).toBeLessThan(2)
  })
})
