import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { eventually, folder, isAlive, pidsIn, run } from '../real-processes.ts'

describe('execution: commands', () => {
  test('commands die with the process, however it dies', async () => {
    const file = join(folder(), 'pids')
    const program = run(new URL('../processes/exec-and-wait.ts', import.meta.url), file)
    const pids = await pidsIn(file, 2)
    expect(pids.every(isAlive)).toBe(true)
    await eventually(() => existsSync(`${file}.guarded`))
    program.process.kill('SIGKILL')
    await program.ended
    await eventually(() => !pids.some(isAlive))
  })
})
