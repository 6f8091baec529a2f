import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, describe } from 'vitest'
import { exitCode } from '../src/cli/exit-code.ts'
import { runQuick, temporaryFolder } from './gym-run.ts'

describe('a report that cannot be written', () => {
  it('is named after the table, with the reason, when its place is lost while the scenarios run', async () => {
    const folder = temporaryFolder()
    const place = join(folder, 'reports')
    const { code, out, err } = await runQuick(folder, join(place, 'x.json'), (text) => {
      if (!text.startsWith('pass')) return
      rmSync(place, { recursive: true, force: true })
      writeFileSync(place, 'a file now')
    })
    expect(code).toBe(exitCode.failed)
    expect(out).toContain('1 of 1 passed')
    expect(out).not.toContain('x.json')
    expect(err).toBe(
      `The report is not complete: cannot write ${join(place, 'x.json')}: ${place} is a file, not a folder\n`,
    )
  })
})
