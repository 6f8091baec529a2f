import { readFileSync } from 'node:fs'
import { join } from 'node:path'

interface Published {
  readonly version: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

/**
 * What is wrong with the dependencies that the packages installed in `project` name. Those of others are caret ranges: a fix there
 * reaches users without a release here, and one copy serves a whole program. Our own are exact: they are released together, and what passes
 * between them is no public interface. Peers are the application's: see the packages' READMEs.
 */
export function problemsOfManifests(project: string, names: readonly string[]): string[] {
  return names.flatMap((name) => {
    const text = readFileSync(join(project, 'node_modules', name, 'package.json'), 'utf8')
    const { version, dependencies = {}, peerDependencies = {} } = JSON.parse(text) as Published
    const ranges = Object.entries({ ...dependencies, ...peerDependencies })
    return ranges
      .filter(([dependency, range]) => {
        if (names.includes(dependency)) return range !== version
        if (dependency in peerDependencies) return !/^>=\d+\.\d+\.\d+ <\d+$/.test(range)
        return !/^\^\d+\.\d+\.\d+$/.test(range)
      })
      .map(([dependency, range]) => `${name} needs ${dependency} ${range}`)
  })
}

/** What a page of a registry shows of a package, and the linter of packages does not ask for. */
const shown = [
  'description',
  'keywords',
  'author',
  'license',
  'homepage',
  'bugs',
  'repository',
  'sideEffects',
  'files',
  'engines',
]

/** The fields that the packages installed in `project` lack. */
export function missingFields(project: string, names: readonly string[]): string[] {
  return names.flatMap((name) => {
    const text = readFileSync(join(project, 'node_modules', name, 'package.json'), 'utf8')
    const manifest = JSON.parse(text) as Readonly<Record<string, unknown>>
    return shown.filter((field) => manifest[field] === undefined).map((field) => `${name} has no ${field}`)
  })
}
