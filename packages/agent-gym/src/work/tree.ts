import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { seededRandom, type SeededRandom } from './random.ts'

/** How large a tree of files is made. */
export interface TreeSize {
  readonly folders: number
  readonly filesPerFolder: number
  /** The most bytes of one file. */
  readonly maxBytes: number
}

/** Where a file of the tree lies and what it is. */
export interface TreePlace {
  readonly folder: string
  /** Relative to the tree, with `/`. */
  readonly path: string
  readonly kind: FileKind
}

/** One generated file, known before it is written. */
export interface TreeFile extends TreePlace {
  readonly content: Buffer
}

/** What is in a folder: what a task that inspects it has to find. */
export interface FolderFacts {
  readonly files: number
  readonly bytes: number
  /** Line feeds. */
  readonly lines: number
  readonly kinds: Readonly<Record<FileKind, number>>
  /** sha256 over the files' own digests, by path. */
  readonly digest: string
}

/** What a file is, by what it holds. */
export type FileKind = 'text' | 'json' | 'table' | 'binary'
export const fileKinds = ['text', 'json', 'table', 'binary'] as const satisfies readonly FileKind[]

/** The places of a tree's files: cheap, for whoever only names them. */
export function planPlaces(seed: number, size: TreeSize): readonly TreePlace[] {
  const random = seededRandom(seed, 'tree')
  return Array.from({ length: size.folders }, (_, folder) => folderName(folder)).flatMap((folder) =>
    Array.from({ length: size.filesPerFolder }, (_, i) => {
      const kind = random.pick(fileKinds)
      // Every third file lies one level deeper, so that walking means descending.
      const parent = i % 3 === 2 ? `${folder}/nested-${i % 2}` : folder
      return { folder, path: `${parent}/${i}${extensions[kind]}`, kind }
    }),
  )
}

/** The files of a tree. The same seed and size give the same bytes. */
export function planTree(seed: number, size: TreeSize): readonly TreeFile[] {
  return planPlaces(seed, size).map((place) => {
    const random = seededRandom(seed, place.path)
    return { ...place, content: contentOf(place.kind, random, size.maxBytes) }
  })
}

/** Writes the files under `root`. */
export function writeTree(root: string, files: readonly TreeFile[]): void {
  for (const folder of new Set(files.map(({ path }) => dirname(path))))
    mkdirSync(join(root, folder), { recursive: true })
  for (const { path, content } of files) writeFileSync(join(root, path), content)
}

/** The folder that task number `n` works on. */
export function folderName(n: number): string {
  return `folder-${String(n).padStart(3, '0')}`
}

/** What there is to find in one folder, worked out from the plan and not from the disk. */
export function factsOf(files: readonly TreeFile[], folder: string): FolderFacts {
  const mine = files.filter((file) => file.folder === folder).toSorted((a, b) => (a.path < b.path ? -1 : 1))
  const kinds = { text: 0, json: 0, table: 0, binary: 0 }
  for (const { kind } of mine) kinds[kind] += 1
  return {
    files: mine.length,
    bytes: mine.reduce((bytes, { content }) => bytes + content.length, 0),
    lines: mine.reduce((lines, { content }) => lines + countLines(content), 0),
    kinds,
    digest: sha256(mine.map(({ content }) => sha256(content)).join('')),
  }
}

/** Line feeds in the bytes. */
export function countLines(content: Uint8Array): number {
  let lines = 0
  for (const byte of content) if (byte === 0x0a) lines += 1
  return lines
}

/** A digest as 64 hex digits. */
export function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}

const extensions: Record<FileKind, string> = { text: '.txt', json: '.json', table: '.csv', binary: '.bin' }

function contentOf(kind: FileKind, random: SeededRandom, maxBytes: number): Buffer {
  const target = random.int(64, maxBytes)
  switch (kind) {
    case 'text':
      return linesUpTo(target, () =>
        Array.from({ length: random.int(3, 14) }, () => random.pick(words)).join(' '),
      )
    case 'table':
      return linesUpTo(
        target,
        () => `${random.int(1, 9999)},${random.pick(words)},${random.next().toFixed(4)}`,
      )
    case 'json': {
      const items: object[] = []
      for (let bytes = 0; bytes < target; bytes += 48) {
        items.push({ id: random.int(1, 99_999), word: random.pick(words), share: random.int(0, 1000) / 1000 })
      }
      return Buffer.from(`${JSON.stringify(items, undefined, 1)}\n`)
    }
    case 'binary': {
      const bytes = Buffer.alloc(target)
      for (let i = 0; i < target; i += 1) bytes[i] = random.int(0, 255)
      // A NUL first, so that no binary file passes for text.
      bytes[0] = 0
      return bytes
    }
  }
}

function linesUpTo(target: number, line: () => string): Buffer {
  let text = ''
  while (text.length < target) text += `${line()}\n`
  return Buffer.from(text)
}

const words =
  'task lease worker slot lane queue claim fence step memo replay sweep settle drain order depth quota signal event hash'.split(
    ' ',
  )
