import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, describe } from 'vitest'
import { exitCode } from '../src/cli/exit-code.ts'
import { gym, runQuick, temporaryFolder } from './gym-run.ts'

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

  it.runIf(existsSync('/proc/self'))('is refused where the kernel makes no folders', () => {
    // In a process of its own, which can be ended.
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [join(gym, 'bin/gym-run.mjs'), '--only', 'lane-order', '--report', '/proc/x/y.json'],
      { encoding: 'utf8', timeout: 200_000 },
    )
    expect({ status, stdout }).toEqual({ status: exitCode.usage, stdout: '' })
    expect(stderr).toMatch(/^--report: .*; give .*\n$/)
  })

  it('leaves nothing behind where it can be written', async () => {
    const folder = temporaryFolder()
    let before: string[] | undefined
    const { code } = await runQuick(folder, join(folder, 'new', 'er', 'x.json'), () => {
      before ??= readdirSync(join(folder, 'new', 'er'))
    })
    expect({ code, before }).toEqual({ code: exitCode.ok, before: [] })
    expect(readdirSync(join(folder, 'new', 'er')).toSorted()).toEqual(['x.html', 'x.json', 'x.junit.xml'])
  })
})

describe('evidence of a scenario', () => {
  it('is a page, which has the results that were kept before, each once', async () => {
    const folder = temporaryFolder()
    const file = join(folder, 'kept.json')
    const [first, again] = [
      await runQuick(folder, join(folder, 'r.json'), undefined, ['--keep', file]),
      await runQuick(folder, join(folder, 'r.json'), undefined, ['--keep', file, '--evidence']),
    ]
    expect([first.code, again.code]).toEqual([exitCode.ok, exitCode.ok])
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject([{ id: 'quick', passed: true }])
    expect(again.out).toMatch(
      /^# Evidence: long scenarios\n[^]+\n## quick\n\nQuick\.\n[^]+\| verdict \| passed \|\n[^]+, sources [0-9a-f]{16} \|[^]+\| completed \| 1 \|/,
    )
    expect(again.out.match(/## quick/g)).toHaveLength(1)
  })
})
