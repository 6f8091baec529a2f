import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Makes an empty project in `folder` and installs packages there, as a user does. */
export async function npmProject(folder: string, specs: readonly string[]): Promise<string> {
  mkdirSync(folder)
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'project', private: true, type: 'module' }),
  )
  await npmInstall(folder, specs)
  return folder
}

export async function npmInstall(folder: string, specs: readonly string[]): Promise<void> {
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error']
  await run('npm', ['install', ...flags, ...specs], { cwd: folder })
}
