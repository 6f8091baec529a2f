// The public API as text: `api/PACKAGE.txt` has each entry point of a published package, and each name that it exports with its
// declaration, as the compiler emits it. A change of the API so shows in the review, and none happens unseen.
//
//   pnpm api          writes the files
//   pnpm check:api    fails where they are not as the sources say, and shows the difference
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describeEntries } from './api/describe-entries.ts'
import { compiledOf, entriesOf } from './publish/manifest.ts'
import { publicPackages } from './publish/packages.ts'

const workspace = resolve(import.meta.dirname, '..')
const recorded = join(workspace, 'api')

if (process.argv.includes('--check')) check()
else write(recorded)

function write(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  const entries = publicPackages(workspace).flatMap((it) =>
    entriesOf(it.manifest).map((entry) => ({
      page: `${it.manifest.name.replace(/^@ku0\//, '')}.txt`,
      name: it.manifest.name + entry.subpath.slice(1),
      file: join(it.folder, compiledOf(entry, '.d.ts')),
    })),
  )
  const texts = describeEntries(entries).map((text, index) => ({ page: entries[index]?.page ?? '', text }))
  for (const [name, parts = []] of Object.entries(Object.groupBy(texts, ({ page }) => page)))
    writeFileSync(join(folder, name), parts.map(({ text }) => text).join('\n'))
}

function check(): void {
  const scratch = mkdtempSync(join(tmpdir(), 'api-'))
  try {
    const found = join(scratch, 'api')
    write(found)
    const { status, stdout } = spawnSync('git', ['diff', '--no-index', '--no-color', recorded, found], {
      encoding: 'utf8',
      maxBuffer: 1e8,
    })
    if (status === 0) return
    console.error(
      `${stdout}\nThe public API is not as recorded in api/. If that is meant, run "pnpm api" and commit what it writes.`,
    )
    process.exitCode = 1
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}
