import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RecordedHistory } from '../../src/testing/index.ts'
import { hashOf } from '../../src/testing/recorded-history.ts'
import { historyOf, programs } from './programs.ts'

// Writes down the histories of a new version: `node test/golden/write.ts v2`. What a released version wrote is never written again.
const [version = ''] = process.argv.slice(2)
if (!/^v\d+$/.test(version)) throw new Error(`a new version such as v2, not '${version}'`)
const folder = join(import.meta.dirname, version)
if (existsSync(folder)) throw new Error(`${folder} exists: histories that were released stay as they are`)
const histories = await Promise.all(
  Object.entries(programs).map(async ([name, program]) => [name, await historyOf(program)] as const),
)
mkdirSync(folder)
for (const [name, history] of histories)
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(bare(history), undefined, 2)}\n`)

function bare(history: RecordedHistory): RecordedHistory {
  const kept = JSON.parse(JSON.stringify(history, withoutStacks)) as RecordedHistory
  return { ...kept, hash: hashOf(kept) }
}

/** They name files of the machine that wrote them. */
function withoutStacks(key: string, value: unknown): unknown {
  return key === 'stack' ? undefined : value
}

process.stdout.write(`${histories.length} histories in ${folder}\n`)
