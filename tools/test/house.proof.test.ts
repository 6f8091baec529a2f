import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { foldersBelow } from '../lint/house.ts'

type Finding = { file: string; line: number; rule: string }

const root = resolve(import.meta.dirname, '../..')
const star = 'house(import-star)'
const ambient = 'house(ambient-imports)'
const date = 'house(current-date)'
const database = 'house(database-files)'
const down = 'house(imports-down)'
const property = 'eslint(no-restricted-properties)'
const global = 'eslint(no-restricted-globals)'
const async = 'oxc(no-async-await)'
const limit = 'house(bare-limit)'
const output = 'eslint(no-console)'
const circle = 'import(no-cycle)'
const everyBan = new Set([
  star,
  down,
  ambient,
  date,
  database,
  limit,
  property,
  global,
  async,
  output,
  circle,
])

/** By file: a line, and the rule that refuses it there, if any. */
const lines: Record<string, [line: string, refusedBy: string | undefined][]> = {
  'packages/agent-runtime-core/src/schemas.ts': [
    [`import 'zod'`, undefined],
    [`import './lane.ts'`, undefined],
    [`import 'node:fs'`, star],
    [`import 'kysely'`, star],
    [`import '@ku0/agent-runtime'`, star],
    [`import '../../agent-runtime/src/index.ts'`, star],
  ],
  'packages/agent-runtime-core/src/testing/clock.ts': [
    [`import '../../package.json'`, undefined],
    [`import 'node:timers'`, star],
    [`void Date.now()`, property],
  ],
  'packages/agent-runtime-core/src/queue/order.ts': [
    [`import '../lane.ts'`, undefined],
    [`void Date.now()`, property],
    [`export async function comesBefore() {}`, async],
    [`void Promise.resolve()`, global],
  ],
  // A circle of files is one by types alone, too, also between folders.
  'packages/agent-runtime-core/src/wait/above.ts': [
    [`import type { Below } from '../task/below.ts'`, circle],
  ],
  'packages/agent-runtime-core/src/task/below.ts': [
    [`export type { Above } from '../wait/above.ts'`, circle],
    [`import type { Lane } from './lane.ts'`, undefined],
  ],
  'packages/agent-runtime-core/src/queue/claim.ts': [
    [`export const claim = async () => 1`, async],
    [`setTimeout(() => {}, 1)`, global],
  ],
  'packages/agent-runtime-persistence/src/open-store.ts': [
    [`import '@ku0/agent-runtime-core'`, undefined],
    [`import '@ku0/agent-runtime'`, star],
    [`export * from '@ku0/agent-runtime-telemetry'`, star],
    [`import { statSync } from 'node:fs'`, undefined],
    [`import { readFileSync } from 'node:fs'`, database],
    [`import { copyFile } from 'fs/promises'`, database],
    [`import fs from 'node:fs'`, database],
    [`import { createHash } from 'node:crypto'`, undefined],
    [`void 'SELECT id FROM task ORDER BY id LIMIT ?'`, limit],
    ["void `SELECT ${'id'} FROM task ORDER BY id LIMIT ?`", limit],
    [`void 'SELECT id FROM task ORDER BY id LIMIT ? + 0'`, undefined],
  ],
  'packages/agent-runtime-persistence/src/postgres/reads/load.ts': [
    [`import type { Session } from '../connection/session.ts'`, undefined],
    [`import '../../sqlite/load.ts'`, undefined],
    [`import './asked.ts'`, undefined],
    [`import type { Turn } from '../processes/turn.ts'`, down],
    [`import '../database.ts'`, down],
  ],
  'packages/agent-runtime-persistence/src/postgres/database.ts': [
    [`import './processes/turn.ts'`, undefined],
  ],
  'packages/agent-runtime-cli/src/run-command.ts': [
    [`import '@ku0/agent-runtime-persistence'`, undefined],
    [`import '@ku0/agent-runtime'`, undefined],
    [`import '@ku0/agent-runtime-telemetry'`, star],
  ],
  'packages/agent-runtime-telemetry/src/logs.ts': [[`import '@ku0/agent-runtime-persistence'`, star]],
  'packages/agent-runtime/src/testing/test-process.ts': [
    [`import '@ku0/agent-runtime-persistence'`, undefined],
  ],
  'packages/agent-runtime/src/opened-store.ts': [[`import '@ku0/agent-runtime-persistence'`, undefined]],
  'packages/agent-runtime/src/surroundings.ts': [[`import '@ku0/agent-runtime-telemetry'`, undefined]],
  'packages/agent-runtime/src/api/receipts.ts': [
    [`import '@ku0/agent-runtime-core'`, undefined],
    [`import type { Receipt } from './status.ts'`, undefined],
    [`import type { Scheduler } from '../worker/scheduler.ts'`, down],
    [`import { system } from '../terms/arguments.ts'`, down],
  ],
  'packages/agent-runtime/src/client/client.ts': [
    [`import '../terms/arguments.ts'`, undefined],
    [`import type { Pass } from '../durable/pass.ts'`, down],
    [`export type { Workers } from '../worker/workers.ts'`, down],
    [`void import('../profile/swarms.ts')`, down],
    [`import type { Options } from '../options.ts'`, down],
  ],
  'packages/agent-runtime/src/durable/host.ts': [
    [`import './rate-limits.ts'`, undefined],
    [`import '../terms/thenable.ts'`, undefined],
    [`import type { Attempt } from '../execution/attempt.ts'`, down],
    [`export * from '../worker/scheduler.ts'`, down],
  ],
  'packages/agent-runtime/src/execution/attempt.ts': [[`import '../durable/gate.ts'`, undefined]],
  'packages/agent-runtime/src/replay/verification.ts': [
    [`import '../system.ts'`, undefined],
    [`import '../execution/attempt.ts'`, undefined],
    [`import '../worker/workers.ts'`, down],
  ],
  'packages/agent-runtime/src/index.ts': [
    [`import '@ku0/agent-runtime-core/testing'`, undefined],
    [`import '@ku0/agent-gym'`, star],
    [`export { openStore } from '@ku0/agent-runtime-persistence'`, star],
    [`void import('@ku0/agent-runtime-telemetry')`, star],
    [`void new Date(0)`, undefined],
    [`void new Date()`, date],
    [`void Date()`, date],
    [`void Date.now()`, property],
    [`void globalThis.Date.now()`, property],
    [`export const { now } = Date`, property],
    [`void performance.now()`, property],
    [`void process.hrtime.bigint()`, property],
    [`void Math.random()`, property],
    [`void Math.floor(1)`, undefined],
    [`void crypto.randomUUID()`, property],
    [`void AbortSignal.timeout(5)`, property],
    [`setTimeout(() => {}, 1)`, global],
    [`setInterval(() => {}, 1)`, global],
    [`setImmediate(() => {})`, global],
    [`import { randomUUID } from 'node:crypto'`, ambient],
    [`import { hrtime } from 'node:process'`, ambient],
    [`import process from 'node:process'`, undefined],
    [`import * as allOfCrypto from 'crypto'`, ambient],
    [`import { setTimeout as sleep } from 'node:timers/promises'`, ambient],
    [`import { performance as watch } from 'node:perf_hooks'`, ambient],
    [`console.log('hello')`, output],
  ],
  'packages/agent-runtime/src/system.ts': [
    [`import { randomUUID } from 'node:crypto'`, undefined],
    [`void Date.now()`, undefined],
    [`setTimeout(() => {}, 1)`, undefined],
  ],
  'packages/agent-gym/src/run.ts': [
    [`import '@ku0/agent-runtime-persistence'`, undefined],
    [`void Date.now()`, undefined],
  ],
}

let workspace: string
let findings: Finding[]

beforeAll(() => {
  workspace = mkdtempSync(join(tmpdir(), 'house-'))
  cpSync(join(root, '.oxlintrc.json'), join(workspace, '.oxlintrc.json'))
  cpSync(join(root, 'tools/lint'), join(workspace, 'tools/lint'), { recursive: true })
  // Without it oxlint walks through all of node_modules.
  cpSync(join(root, '.gitignore'), join(workspace, '.gitignore'))
  symlinkSync(join(root, 'node_modules'), join(workspace, 'node_modules'))
  for (const [file, content] of Object.entries(lines)) {
    mkdirSync(dirname(join(workspace, file)), { recursive: true })
    writeFileSync(join(workspace, file), content.map(([line]) => `${line}\n`).join(''))
  }
  findings = lint()
})

afterAll(() => rmSync(workspace, { recursive: true, force: true }))

describe.each(Object.entries(lines))('%s', (file, content) => {
  test.each(content)('%s (%s)', (text, refusedBy) => {
    const line = content.findIndex(([other]) => other === text) + 1
    const found = findings.filter((finding) => finding.file === file && finding.line === line)
    const bans = new Set(found.map(({ rule }) => rule).filter((rule) => everyBan.has(rule)))
    expect([...bans]).toEqual(refusedBy === undefined ? [] : [refusedBy])
  })
})

test('each folder of a room imports only folders that stand before it, so that no circle can be', () => {
  for (const [place, folders] of Object.entries(foldersBelow))
    for (const [index, [folder, below]] of folders.entries()) {
      const before = new Set(folders.slice(0, index).map(([name]) => name))
      expect({ place, folder, after: below.filter((name) => !before.has(name)) }).toEqual({
        place,
        folder,
        after: [],
      })
    }
  for (const [place, folders] of Object.entries(foldersBelow)) {
    const there = readdirSync(join(root, 'packages', place), { withFileTypes: true })
    expect(folders.map(([name]) => name).toSorted()).toEqual(
      there
        .filter((it) => it.isDirectory() && it.name !== 'testing')
        .map(({ name }) => name)
        .toSorted(),
    )
  }
})

function lint(): Finding[] {
  const oxlint = join(root, 'node_modules/oxlint/bin/oxlint')
  const { stdout, stderr } = spawnSync(process.execPath, [oxlint, '-f', 'json', 'packages'], {
    cwd: workspace,
    encoding: 'utf8',
  })
  const { diagnostics } = JSON.parse(stdout || stderr) as {
    diagnostics: { code: string; filename: string; labels: { span: { line: number } }[] }[]
  }
  return diagnostics.map(({ code, filename, labels }) => ({
    file: filename.replaceAll('\\', '/'),
    line: labels[0]?.span.line ?? 0,
    rule: code,
  }))
}
