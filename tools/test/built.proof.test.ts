import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { type Built, environmentOfBuilt, hashOfSources, Imports, isPacked } from '../built.ts'

const workspace = resolve(import.meta.dirname, '../..')
const preload = resolve(import.meta.dirname, '../built/preload.mjs')

function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'built-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('a program that imports a source inside of a package has all of that package from its sources', () => {
  const folder = scratch()
  const imports = new Imports()
  const inside = (text: string) => {
    const file = join(folder, `${Math.random()}.ts`)
    writeFileSync(file, text)
    return imports.insideOf(file)
  }
  const runtime = join(workspace, 'packages/agent-runtime/src')
  expect(inside(`import { createRuntime } from '@ku0/agent-runtime'`)).toEqual([])
  expect(inside(`import { createRuntime } from '${runtime}/index.ts'`)).toEqual([])
  expect(inside(`import {\n  clock,\n} from '${runtime}/system.ts'`)).toEqual(['@ku0/agent-runtime'])
  expect(inside(`const { clock } = await import('${runtime}/system.ts')`)).toEqual(['@ku0/agent-runtime'])
  expect(inside(`import type { Clock } from '${runtime}/system.ts'`)).toEqual([])
  // Through a file of its own, and through a package that nobody installs.
  writeFileSync(join(folder, 'helper.ts'), `export * from '${runtime}/system.ts'`)
  expect(inside(`import './helper.ts'`)).toEqual(['@ku0/agent-runtime'])
  expect(inside(`import '@ku0/agent-gym'`)).toEqual([])
})

test('a process loads what is built for the programs that are named, and the sources otherwise', () => {
  const folder = scratch()
  const url = (name: string) => pathToFileURL(join(folder, name)).href
  const program = `import { from } from './source.mjs'; import { Worker, isMainThread } from 'node:worker_threads'
    console.log(from); if (isMainThread && process.argv[2] !== undefined) new Worker(process.argv[2])`
  for (const name of ['named', 'other', 'partly']) writeFileSync(join(folder, `${name}.mjs`), program)
  writeFileSync(join(folder, 'source.mjs'), `export const from = 'source'`)
  writeFileSync(join(folder, 'bundle.mjs'), `export const from = 'bundle'`)
  const built: Built = {
    hash: '',
    isPacked: false,
    entries: { [url('source.mjs')]: { of: '@ku0/it', url: url('bundle.mjs') } },
    programs: { [url('named.mjs')]: [], [url('partly.mjs')]: ['@ku0/it'] },
  }
  writeFileSync(join(folder, 'built.json'), JSON.stringify(built))
  const said = (...args: readonly string[]) =>
    execFileSync(process.execPath, args, {
      cwd: folder,
      encoding: 'utf8',
      env: {
        ...process.env,
        BUILT_PACKAGES: join(folder, 'built.json'),
        NODE_OPTIONS: `--import=${pathToFileURL(preload).href}`,
      },
    }).trim()
  expect([said('named.mjs'), said('other.mjs'), said('partly.mjs')]).toEqual(['bundle', 'source', 'source'])
  // A thread is a program of its own.
  expect(said('other.mjs', join(folder, 'named.mjs'))).toBe('source\nbundle')
})

test('a release counts as packed until a source has changed, and bundles for tests never do', () => {
  const file = join(scratch(), 'built.json')
  const says = (record: Pick<Built, 'hash' | 'isPacked'>) => {
    writeFileSync(file, JSON.stringify(record))
    return isPacked(file)
  }
  expect(isPacked(file)).toBe(false)
  expect(says({ hash: 'of yesterday', isPacked: true })).toBe(false)
  expect(says({ hash: hashOfSources(), isPacked: false })).toBe(false)
  expect(says({ hash: hashOfSources(), isPacked: true })).toBe(true)
})

test('a run of tests has each entry point of each package as it is built from these sources', async () => {
  const { BUILT_PACKAGES: file = '' } = await environmentOfBuilt()
  const { hash, entries } = JSON.parse(readFileSync(file, 'utf8')) as Built
  expect(hash).toBe(hashOfSources())
  const bundles = Object.values(entries).map(({ url }) => fileURLToPath(url))
  expect(bundles.length).toBeGreaterThan(10)
  expect(bundles.filter((it) => !existsSync(it))).toEqual([])
})
