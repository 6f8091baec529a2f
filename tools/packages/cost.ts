import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/**
 * What `npm install @ku0/agent-runtime` and an import of it may cost. Measured on Linux x64 with Node 26: 31.3 MB in 7 packages, of which the driver is 27.8 MB, and 62 ms
 * of processor time; the packages of single modules took 37.5 MB, 8 and 140 ms. See `docs/decisions/0027-bundles.md`.
 */
export const bars = { megabytes: 35, packages: 10, importMs: 120 }

/** A busy machine makes an import slower, and never faster. */
const imports = 7

/** Prints what the runtime that is installed in `project` costs, and returns what is above the bars. */
export function checkCost(project: string, name: string): string[] {
  const folders = installedWith(project, name)
  const importMs = Math.min(...Array.from({ length: imports }, () => importMsOf(project, [name])))
  const cost = { megabytes: megabytesOf(folders), packages: folders.length, importMs }
  const shown = `${cost.megabytes.toFixed(1)} MB, ${cost.packages} packages, import ${importMs.toFixed(0)} ms CPU`
  console.log(`  ${name} costs ${shown}`)
  const above = (Object.keys(bars) as (keyof typeof bars)[]).filter((key) => cost[key] > bars[key])
  return above.map((key) => `${name} costs ${shown}; the bar of ${key} is ${bars[key]}`)
}

/** What is in these folders of packages, as the sizes of files, without the packages that are installed inside of them. */
export function megabytesOf(folders: readonly string[]): number {
  return folders.flatMap(filesOf).reduce((sum, file) => sum + statSync(file).size, 0) / 1e6
}

/** The processor time of a process that imports these modules in `project`, from before the first import, ms. */
export function importMsOf(project: string, names: readonly string[]): number {
  const program = [
    'const before = process.cpuUsage()',
    ...names.map((name) => `await import('${name}')`),
    'const { user, system } = process.cpuUsage(before)',
    'console.log((user + system) / 1_000)',
    // Some leave timers behind.
    'process.exit()',
  ].join('\n')
  const args = ['--input-type=module', '--eval', program]
  return Number(execFileSync(process.execPath, args, { cwd: project, encoding: 'utf8' }))
}

/** The folders of a package and of all that it needs. */
function installedWith(project: string, name: string): string[] {
  const found = new Set<string>()
  const visit = (wanted: string, from: string) => {
    const nested = join(from, 'node_modules', wanted)
    const folder = existsSync(nested) ? nested : join(project, 'node_modules', wanted)
    if (found.has(folder)) return
    found.add(folder)
    const { dependencies = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
      dependencies?: Record<string, string>
    }
    for (const other of Object.keys(dependencies)) visit(other, folder)
  }
  visit(name, project)
  return [...found]
}

/** Without what is installed inside of it, which counts by itself. */
function filesOf(folder: string): string[] {
  return globSync('**', { cwd: folder, exclude: ['node_modules'] })
    .map((file) => join(folder, file))
    .filter((file) => statSync(file).isFile())
}
