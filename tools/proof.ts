// Writes docs/proof.md: each rule of the pages, with the tests that hold it.
//
//   node tools/proof.ts [--check]
//
// The tests stand in docs/proof/PAGE.json, by rule and file. --check changes nothing, and fails if the page is not as it would be written.
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { rulesOf } from './rules.ts'

/** One test that holds a rule. */
export interface Reference {
  /** The page that has the rule, as `docs/semantics.md`. */
  readonly page: string
  /** The number of the rule, or its heading if it has none. */
  readonly rule: string
  /** The file of the test, from the root of the workspace. */
  readonly path: string
  /** A part of the title as the source spells it, `${…}` included. */
  readonly title: string
}

/** The titles of tests, by rule and by file. */
type Proof = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>

const workspace = resolve(import.meta.dirname, '..')
const target = 'docs/proof.md'

/** In the order in which the page has them; others follow. */
const order = ['guarantees', 'semantics', 'reliability', 'client-and-worker', 'paper']

/** The pages whose rules have tests. */
export const provenPages: readonly string[] = globSync('docs/proof/*.json', { cwd: workspace })
  .map((file) => `docs/${basename(file, '.json')}.md`)
  .toSorted((a, b) => place(a) - place(b) || (a < b ? -1 : 1))

if (import.meta.main) {
  const right = proofPage()
  if (!process.argv.includes('--check')) writeFileSync(resolve(workspace, target), right)
  else if (read(target) !== right) {
    console.error(`${target} is not what docs/proof/*.json says: run 'pnpm proof'`)
    process.exitCode = 1
  }
}

/** All tests that rules of a page name. */
export function references(page: string): Reference[] {
  return Object.entries(proofOf(page)).flatMap(([rule, files]) =>
    Object.entries(files).flatMap(([path, titles]) => titles.map((title) => ({ page, rule, path, title }))),
  )
}

/** docs/proof.md as it is right. */
export function proofPage(): string {
  return [
    '# Proof',
    'This page lists the tests of each rule and each promise. `pnpm proof` writes it from `docs/proof/*.json`. A test checks that each rule has tests and that each test exists.',
    'Tests in `store-suite/` are the conformance suite of the store port. `conformance/` and `conformance-on-disk.proof.test.ts` in `packages/agent-runtime-persistence/test` run them against SQLite.',
    'Titles are spelled as in the source. A placeholder such as `${state}` or `%s` stands for several values.',
    ...provenPages.flatMap(chapter),
    '',
  ]
    .join('\n\n')
    .replace(/\n+$/, '\n')
}

function chapter(page: string): string[] {
  const proof = proofOf(page)
  return [
    `## [${titleOf(page)}](${basename(page)})`,
    ...rulesOf(page, read(page))
      .filter(({ name }) => name in proof)
      .flatMap(({ name, heading }) => [`### ${heading}`, filesOf(proof[name] ?? {})]),
  ]
}

/** A list of files, each with a list of titles. */
function filesOf(files: Proof[string]): string {
  return Object.entries(files)
    .flatMap(([path, titles]) => [
      `- [${path.replace(/^packages\//, '')}](../${path})`,
      ...titles.map((each) => `  - ${code(each)}`),
    ])
    .join('\n')
}

/** Code, whatever backticks are in it. */
function code(text: string): string {
  if (!text.includes('`')) return `\`${text}\``
  const space = /^`|`$/.test(text) ? ' ' : ''
  return `\`\`${space}${text}${space}\`\``
}

function titleOf(page: string): string {
  return /^# (.+)$/m.exec(read(page))?.[1] ?? page
}

function proofOf(page: string): Proof {
  return JSON.parse(read(`docs/proof/${basename(page, '.md')}.json`)) as Proof
}

function place(page: string): number {
  const at = order.indexOf(basename(page, '.md'))
  return at === -1 ? order.length : at
}

function read(file: string): string {
  return readFileSync(resolve(workspace, file), 'utf8')
}

/** Whether a test that ran, or should have, is one that the reference means. A suite that several files run has tests in each. */
export function means(
  reference: Pick<Reference, 'path' | 'title'>,
  test: { readonly file: string; readonly name: string },
): boolean {
  return meaning(reference)(test)
}

/** The same for many tests. */
export function meaning({
  path,
  title,
}: Pick<Reference, 'path' | 'title'>): (test: { readonly file: string; readonly name: string }) => boolean {
  const parts = title.split(/\$\{[^}]*\}|\$[\w.]+|%[a-z]/)
  const pattern = parts.map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)).join('.*')
  const wanted = new RegExp(pattern, 's')
  return ({ file, name }) => (!path.endsWith('.test.ts') || path === file) && wanted.test(name)
}
