import { folder, run } from './real-processes.ts'
import { describe, expect, test } from 'vitest'
import { join } from 'node:path'

describe("execution: the runtime's own log", () => {
  test('a process whose database is deleted prints no stack', async () => {
    const program = run(new URL('./processes/unlinked.ts', import.meta.url), join(folder(), 'store.db'))
    expect(await program.ended).toEqual({ code: 74, signal: null })
    const printed = program.lines.join('\n')
    expect(printed).toContain('store_unlinked')
    expect(printed).not.toMatch(/\n\s+at |\\n\s+at |"stack"/)
    expect(printed).not.toContain('hunter2')
  })
})
