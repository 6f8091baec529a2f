import { cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { folders, type Page, sections } from './navigation.ts'

/** Where the sources are; the repository has no other home yet. */
const repository = 'https://github.com/ku0/agent-runtime'

export interface SitePage extends Page {
  /** The place on the site, without an ending. */
  readonly path: string
}

/** Every page of the site that is made from a file of the repository, in the order of the sidebar. Throws for a page of docs/ without a place. */
export function sitePages(
  root: string,
): readonly { readonly text: string; readonly pages: readonly SitePage[] }[] {
  const listed = sections.map(({ text, pages }) => ({ text, pages: pages.map(placed) }))
  const found = (pattern: string) => globSync(pattern, { cwd: root }).map(posixPath).toSorted()
  const of = (files: readonly string[]) => files.map((file) => placed({ file, text: titleOf(root, file) }))
  const packages = of(found('packages/*/README.md').filter((file) => file !== 'packages/agent-gym/README.md'))
  const all = [
    ...listed,
    { text: 'Examples', pages: of(found('examples/*/README.md')) },
    { text: 'Packages', pages: packages },
    ...folders.map(({ folder, text }) => ({ text, pages: of(found(`${folder}/*.md`)) })),
  ]
  const known = new Set(all.flatMap(({ pages }) => pages.map(({ file }) => file)))
  const missing = found('docs/**/*.md').filter((file) => !known.has(file) && file !== 'docs/index.md')
  if (missing.length > 0) throw new Error(`site/navigation.ts has no place for ${missing.join(', ')}`)
  return all
}

/** Copies the pages below `target`, their links turned to where they lead on the site or, where they leave it, in the repository. */
export function writePages(root: string, target: string, pages: readonly SitePage[]): void {
  const places = new Map(pages.map(({ file, path }) => [file, path]))
  for (const { file, path } of pages) {
    const to = join(target, `${path}.md`)
    mkdirSync(dirname(to), { recursive: true })
    writeFileSync(to, withLinks(readFileSync(join(root, file), 'utf8'), file, path, places))
  }
  const home = readFileSync(join(root, 'docs/index.md'), 'utf8')
  writeFileSync(join(target, 'index.md'), withLinks(home, 'docs/index.md', 'index', places))
  for (const picture of globSync('docs/**/*.{svg,png}', { cwd: root }))
    cpSync(join(root, picture), join(target, 'public', picture))
}

function placed({ file, text }: Page): SitePage {
  const path = file
    .replace(/^docs\//, '')
    .replace(/\/README\.md$/, '.md')
    .replace(/^README\.md$/, 'overview.md')
    .replace(/\.md$/, '')
    .toLowerCase()
  return { file, text, path }
}

function titleOf(root: string, file: string): string {
  const heading = /^# (.+)$/m.exec(readFileSync(join(root, file), 'utf8'))?.[1]
  if (heading === undefined) throw new Error(`${file} has no title`)
  return heading.replaceAll('`', '')
}

function withLinks(text: string, file: string, path: string, places: ReadonlyMap<string, string>): string {
  let isCode = false
  return text
    .split('\n')
    .map((line) => {
      if (line.startsWith('```')) isCode = !isCode
      return isCode ? line : line.replaceAll(/\]\(([^)\s]+)\)/g, (_, link: string) => `](${turned(link)})`)
    })
    .join('\n')

  function turned(link: string): string {
    if (/^[a-z]+:|^#/.test(link)) return link
    const [to = '', anchor] = link.split('#')
    const target = posix.normalize(posix.join(posix.dirname(file), to)).replace(/\/$/, '')
    const place = places.get(target) ?? places.get(`${target}/README.md`)
    const hash = anchor === undefined ? '' : `#${anchor}`
    if (place !== undefined) return `${relative(path, place)}.md${hash}`
    if (/\.(svg|png)$/.test(target)) return `/${target}`
    return `${repository}/blob/main/${target}${hash}`
  }
}

function relative(from: string, to: string): string {
  const path = posix.relative(posix.dirname(from), to)
  return path.startsWith('.') ? path : `./${path}`
}

function posixPath(path: string): string {
  return path.replaceAll('\\', '/')
}
