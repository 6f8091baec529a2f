// Checks the English of the pages that people read, and of the doc comments of the public API and the titles of tests: docs/STYLE.md.
//
//   node tools/prose.ts [PAGE...]
//
// Without pages, all of them, the comments and the titles; pages that commands write are left out. Fails if a sentence is too long, begins as a fragment, or has a phrase or a word that readers stumble over.
import { globSync, readFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { type Complaint, complaintsOf } from './prose/rules.ts'
import { readPage } from './prose/sentences.ts'
import { docComments, publicComments, testTitles } from './prose/source.ts'

const workspace = resolve(import.meta.dirname, '..')

const everyPage = [
  '*.md',
  'docs/**/*.md',
  'examples/*/README.md',
  'packages/*/README.md',
  'packages/*/CHANGELOG.md',
  '.changeset/*.md',
]

/** Written by commands, with the titles of tests and the figures of runs. */
const generated = ['docs/proof.md', 'docs/evidence/*.md']

/** Not guides: what readers look things up in, and what is written for who changes the code. */
const references = [
  'README.md',
  'CONTRIBUTING.md',
  'AGENTS.md',
  'docs/ARCHITECTURE.md',
  'docs/STYLE.md',
  'docs/decisions/*.md',
  'docs/glossary.md',
  'docs/guarantees.md',
  'docs/paper.md',
  'docs/reliability.md',
  'docs/semantics.md',
  'docs/simulation.md',
  'docs/versioning.md',
  'packages/agent-gym/README.md',
]

/** Files with titles of tests. The store suite is a library of them. */
const titled = [
  'packages/*/test/**/*.ts',
  'packages/agent-runtime-conformance/src/**/*.ts',
  'tools/test/**/*.ts',
  'examples/*/test/**/*.ts',
]

/** Packages whose inner doc comments are checked as well. The others still have some to mend; the list grows, and goes with the last of them. */
const clean = [
  'agent-runtime-conformance',
  'agent-runtime-core',
  'agent-runtime-server',
  'agent-runtime-ai',
  'agent-runtime-cli',
  'agent-runtime-client',
  'agent-runtime-console',
  'agent-runtime-telemetry',
  'eslint-plugin-agent-runtime',
]

if (import.meta.main) {
  const pages = process.argv.slice(2).map((page) => relative(workspace, resolve(page)))
  const written = new Set(matching(generated))
  const complaints =
    pages.length > 0
      ? pages.filter((page) => !written.has(page)).flatMap((page) => checkPage(page))
      : [...prosePages().flatMap((page) => checkPage(page)), ...commentComplaints(), ...titleComplaints()]
  for (const complaint of complaints) console.error(complaint)
  if (complaints.length > 0) {
    console.error(`${complaints.length} to mend: docs/STYLE.md says how the pages are written`)
    process.exitCode = 1
  }
}

/** All pages that are checked, from the root of the workspace. */
export function prosePages(): string[] {
  const left = new Set(matching(generated))
  return matching(everyPage).filter((page) => !left.has(page))
}

function checkPage(page: string): string[] {
  const isReference = matching(references).includes(page)
  return shown(page, complaintsOf(readPage(read(page)), { isReference, glossary: glossaryWords() }))
}

/** Comments are reference, and their sentences may be long. */
export function commentComplaints(): string[] {
  const names = new Set(
    matching(['api/*.txt']).flatMap((file) =>
      [...read(file).matchAll(/^[A-Za-z]\w*$/gm)].map(([name]) => name),
    ),
  )
  const whole = new Set(matching(clean.map((name) => `packages/${name}/src/**/*.{ts,tsx}`)))
  return matching(['packages/*/src/**/*.{ts,tsx}']).flatMap((file) => {
    const page = whole.has(file) ? docComments(file, read(file)) : publicComments(file, read(file), names)
    const complaints = complaintsOf(page, {
      isReference: true,
      glossary: new Set(),
    })
    return shown(
      file,
      complaints.filter(({ rule }) => rule !== 'sentence-length'),
    )
  })
}

/** Titles stand alone in the output of a run and in docs/proof.md. */
export function titleComplaints(): string[] {
  const kind = { isReference: true, isTitles: true, glossary: new Set<string>() }
  return matching(titled).flatMap((file) => shown(file, complaintsOf(testTitles(file, read(file)), kind)))
}

function shown(file: string, complaints: readonly Complaint[]): string[] {
  return complaints.map(({ line, rule, message }) => `${file}:${line} ${rule}: ${message}`)
}

/** What stands in the first column of the glossary. */
function glossaryWords(): ReadonlySet<string> {
  const rows = read('docs/glossary.md').matchAll(/^\| ([^|]+?) +\|/gm)
  return new Set([...rows].flatMap(([, words = '']) => words.toLowerCase().split(', ')))
}

function matching(patterns: readonly string[]): string[] {
  return globSync(patterns, { cwd: workspace }).toSorted()
}

function read(page: string): string {
  return readFileSync(resolve(workspace, page), 'utf8')
}
