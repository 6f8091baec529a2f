import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { factsOf, fileKinds, folderName, planPlaces, planTree, sha256, writeTree } from '../src/work/tree.ts'

const size = { folders: 3, filesPerFolder: 12, maxBytes: 2048 }

it('is the same for the same seed, and another for another', () => {
  const digest = (seed: number) => sha256(Buffer.concat(planTree(seed, size).map(({ content }) => content)))
  expect(digest(1)).toBe(digest(1))
  expect(digest(1)).not.toBe(digest(2))
})

it('names the same places without their content', () => {
  expect(planTree(5, size).map(({ folder, path, kind }) => ({ folder, path, kind }))).toEqual(
    planPlaces(5, size),
  )
})

it('knows what it has put into each folder', () => {
  const root = mkdtempSync(join(tmpdir(), 'tree-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const tree = planTree(7, size)
  writeTree(root, tree)
  const folder = folderName(1)
  const onDisk = readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name)))
  const facts = factsOf(tree, folder)
  expect(facts.files).toBe(onDisk.length)
  expect(facts.bytes).toBe(onDisk.reduce((sum, { length }) => sum + length, 0))
  expect(facts.lines).toBe(
    onDisk.reduce((sum, content) => sum + content.toString('latin1').split('\n').length - 1, 0),
  )
  expect(fileKinds.reduce((sum, kind) => sum + facts.kinds[kind], 0)).toBe(facts.files)
})

it('has every kind of file, some of them nested', () => {
  const places = planPlaces(1, { ...size, filesPerFolder: 40 })
  expect(new Set(places.map(({ kind }) => kind))).toEqual(new Set(fileKinds))
  expect(places.some(({ path }) => path.includes('/nested-'))).toBe(true)
})
