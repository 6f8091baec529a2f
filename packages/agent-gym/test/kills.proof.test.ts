import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime } from '@ku0/agent-runtime'
import Database from 'better-sqlite3'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { draws } from '../../../tools/draws.ts'
import { exitCode } from '../src/cli/exit-code.ts'
import { killsCommand } from '../src/cli/kills-command.ts'
import { CodeCache } from '../src/host/code-cache.ts'
import { checkStore } from '../src/kills/check-store.ts'
import { killStore } from '../src/kills/kill-store.ts'
import { Acknowledgements } from '../src/kills/acknowledgements.ts'
import { killTasks } from '../src/kills/work.ts'
import { openLedger } from '../src/work/ledger.ts'

const cache = CodeCache.open()
afterAll(() => cache[Symbol.dispose]())
let folder: string
let acks: Acknowledgements

describe('a process that is killed again and again', () => {
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'kills-test-'))
    acks = new Acknowledgements()
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  test('loses nothing that it acknowledged, and repeats no recorded step', async () => {
    const kills = draws(5, 5, 15)
    const plan = { seed: 3, store: 0, kills, submissions: 200, compileCache: cache.folder }
    const { faults, ...counts } = await killStore(plan, new AbortController().signal)
    expect(faults).toEqual([])
    expect(counts.kills).toBe(kills)
    expect(counts.acknowledged).toBeGreaterThan(0)
    expect(counts.tasks).toBeGreaterThanOrEqual(counts.acknowledged)
  })

  test('is killed also where it has nothing left to do: each kill that is counted is one', async () => {
    const plan = { seed: 36, store: 0, kills: 1, submissions: 0, compileCache: cache.folder }
    const { faults, kills, killedOpening } = await killStore(plan, new AbortController().signal)
    expect([faults, kills, killedOpening]).toEqual([[], 1, 0])
  })

  test('is not taken at a word that a kill has cut, and its successor at every one', () => {
    const told = join(folder, 'told.txt')
    appendFileSync(told, '\ncall 0;\nack 0 67e825c0-8c0a-814a')
    acks.read(told)
    expect([acks.count, acks.next, acks.firstUnknown]).toEqual([0, 1, 0])
    appendFileSync(told, '\ncall 0;\nack 0 67e825c0-8c0a-814a-8721;\nca')
    acks.read(told)
    expect([...acks.ids]).toEqual([[0, new Set(['67e825c0-8c0a-814a-8721'])]])
    expect([acks.next, acks.inDoubt]).toEqual([1, 1])
  })

  test('would be found out: what is lost, invented, repeated or changed is a fault', async () => {
    const ids = await livePeacefully()
    expect(await checkStore(folder, acks)).toMatchObject({ faults: [], tasks: 21 })
    const [first = '', second = ''] = ids

    acks.heard('ack 3 another')
    appendFileSync(join(folder, 'ledger.txt'), `\n${first} one 1 2 ${first}/one;`)
    const db = new Database(join(folder, 'runtime.db'))
    const { id } = db.prepare('SELECT id FROM task ORDER BY id LIMIT 1 OFFSET 1').get() as { id: number }
    db.prepare("UPDATE event SET at = at + 1 WHERE task = ? AND type = 'task.started'").run(id)
    db.close()
    acks.next = 15
    const { faults, ...counts } = await checkStore(folder, acks)
    expect(counts).toMatchObject({ lost: 0, doubled: 6, recordedAgain: 1 })
    expect(faults).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^3 was acknowledged as .* and another$/),
        `${first}: one ran after it was recorded`,
        `${first}: one ran under another key`,
        expect.stringContaining(`${second}: event 2 was changed`),
        expect.stringMatching(/nobody submitted a second 1[5-9]$/),
      ]),
    )
    acks.heard('ack 99 nowhere')
    const lost = await checkStore(folder, acks)
    expect(lost.faults).toContain('99 was acknowledged as nowhere, which is lost')
    expect(lost.lost).toBe(1)
  })

  test('its command prints the result as a page, and fails when too little happened', async () => {
    const said = { out: '', err: '' }
    const screen = (name: 'out' | 'err') => ({ write: (text: string) => void (said[name] += text) })
    const args = ['--kills', '1', '--submissions', '1', '--seed', '5', '--evidence']
    const code = await killsCommand(
      args,
      { out: screen('out'), err: screen('err') },
      new AbortController().signal,
    )
    expect(said.out).toMatch(/^# Evidence: kills\n/)
    expect(said.out).toContain('| kills (SIGKILL) | 1 |')
    expect(said.out).toContain('| acknowledged and lost | 0 |')
    expect(code).toBe(exitCode.failed)
  })
})

/** Nineteen tasks, two of them with a child, in a store whose process nobody kills. */
async function livePeacefully(): Promise<readonly string[]> {
  const ledger = openLedger(join(folder, 'ledger.txt'), { sync: false })
  const { parent, all } = killTasks(ledger)
  await using runtime = await createRuntime({
    store: `sqlite:${folder}/runtime.db`,
    tasks: all,
    logger: false,
  })
  const ids: string[] = []
  for (let n = 1; n < 20; n += 1) {
    acks.heard(`call ${n}`)
    const receipt = await runtime.submit(parent, { n })
    acks.heard(`ack ${n} ${receipt.taskId}`)
    ids.push(receipt.taskId)
  }
  for (const id of ids) await runtime.result(id)
  await ledger.close()
  return ids
}
