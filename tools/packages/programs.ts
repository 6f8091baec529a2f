import { execFile, execFileSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { readBlocks } from '../doc-blocks.ts'
import { entriesOf, readManifest } from '../publish/manifest.ts'
import type { PublicPackage } from '../publish/packages.ts'

const run = promisify(execFile)
const quiet = '--disable-warning=ExperimentalWarning'
/** Programs of the runtime's tests: what they print does not depend on the machine, and is the same from the sources. */
const printing = ['behaviour', 'one-of-each-class']
const folderOfPrinting = 'packages/agent-runtime/test/processes'

/** Programs that use the packages installed in `project`. */
export class Programs {
  private readonly project: string
  private readonly packages: readonly PublicPackage[]
  private readonly expected: Readonly<Record<string, string>>
  private readonly hasReadme: boolean

  constructor(
    workspace: string,
    project: string,
    packages: readonly PublicPackage[],
    entries: readonly string[],
  ) {
    this.project = project
    this.packages = packages
    writeFileSync(join(project, 'import.mjs'), importAll(entries))
    const readme = readBlocks('README.md').find(
      ({ language, shown }) => language === 'ts' && shown === 'and run',
    )
    this.hasReadme = readme !== undefined
    if (readme !== undefined) writeFileSync(join(project, 'readme.ts'), readme.code)
    for (const name of printing) writeFileSync(join(project, `${name}.ts`), asUser(workspace, name))
    this.expected = Object.fromEntries(
      printing.map((name) => {
        const file = join(workspace, folderOfPrinting, `${name}.ts`)
        return [name, execFileSync(process.execPath, [quiet, file], { encoding: 'utf8' })]
      }),
    )
  }

  /** Runs all of them on one version of Node. */
  async run(node: string): Promise<void> {
    this.importAll(node)
    for (const [name, expected] of Object.entries(this.expected)) {
      const { stdout } = await run(node, [quiet, `${name}.ts`], { cwd: this.project })
      if (stdout.split('\n').length < 15 || stdout !== expected)
        throw new Error(`${name} prints something else on ${node} than from the sources:\n${stdout}`)
      console.log(`  ${name} prints what it prints from the sources`)
    }
    await this.#commands(node)
    if (!this.hasReadme) return
    if (!(await hasAwaitUsing(node))) {
      console.log('  the program of README.md is left out: `await using` needs Node 24 or a compiler')
      return
    }
    const place = mkdtempSync(join(this.project, 'readme-'))
    await run(node, [quiet, join(this.project, 'readme.ts')], { cwd: place })
    console.log('  the program of README.md runs')
  }

  importAll(node: string): void {
    execFileSync(node, ['import.mjs'], { cwd: this.project, stdio: 'inherit' })
  }

  /** Where a package is installed beside the one at the top. */
  copiesOf(name: string): string[] {
    return globSync(`node_modules/**/node_modules/${name}/package.json`, { cwd: this.project })
  }

  async #commands(node: string): Promise<void> {
    for (const { manifest } of this.packages)
      for (const command of Object.keys(manifest.bin ?? {})) {
        const file = join(this.project, 'node_modules/.bin', command)
        await run(node, [file, '--help'], { cwd: this.project })
        const { stdout } = await run(node, [file, '--version'], { cwd: this.project })
        if (!stdout.includes(manifest.version))
          throw new Error(`${command} --version prints ${stdout}, not ${manifest.version}`)
        console.log(`  ${command} --help and --version run`)
      }
    const made = mkdtempSync(join(this.project, 'made-'))
    await run(node, [join(this.project, 'node_modules/.bin/agent-runtime'), 'init', '.'], { cwd: made })
    await run(node, [quiet, '--test', 'test/tasks.test.ts'], { cwd: made })
    console.log('  agent-runtime init makes a project whose test passes')
  }
}

/** Whether a Node runs `await using` as it stands. */
async function hasAwaitUsing(node: string): Promise<boolean> {
  const { stdout } = await run(node, ['-p', 'process.versions.node'])
  return Number(stdout.split('.')[0]) >= 24
}

/** A program of the runtime's tests, as somebody who has installed the packages writes it. */
function asUser(workspace: string, program: string): string {
  const manifest = readManifest(join(workspace, 'packages/agent-runtime'))
  const file = join(workspace, folderOfPrinting, `${program}.ts`)
  return readFileSync(file, 'utf8').replaceAll(/'\.\.\/\.\.(\/src\/.+\.ts)'/g, (_, source: string) => {
    const entry = entriesOf(manifest).find((it) => it.source === `.${source}`)
    if (entry === undefined) throw new Error(`${manifest.name} has no entry point for ${source}`)
    return `'${manifest.name}${entry.subpath.slice(1)}'`
  })
}

/** A thread's program is only resolved: it runs in a thread. */
function importAll(entries: readonly string[]): string {
  return [
    `import { existsSync } from 'node:fs'`,
    `import { fileURLToPath } from 'node:url'`,
    `for (const entry of ${JSON.stringify(entries)}) {`,
    `  const file = fileURLToPath(import.meta.resolve(entry))`,
    `  if (!existsSync(file) || !file.includes('/dist/')) throw new Error(entry + ' resolves to ' + file)`,
    `  if (!entry.endsWith('-worker') && Object.keys(await import(entry)).length === 0) throw new Error(entry + ' exports nothing')`,
    `}`,
    `console.log('node ' + process.version + ' imports ${entries.length} entry points')`,
  ].join('\n')
}
