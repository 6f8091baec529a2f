import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { installCommand } from '../src/install-command.ts'
import { scratchFolder } from './stores-and-shells.ts'

test('a new project is installed from where this program was installed from', () => {
  const folder = scratchFolder()
  const modules = join(folder, 'home/node_modules')
  const program = join(modules, '@ku0/agent-runtime-cli/dist/init.js')
  mkdirSync(modules, { recursive: true })
  expect(installCommand(program)).toBe('npm install')
  const installed = (resolved: string) =>
    writeFileSync(
      join(modules, '.package-lock.json'),
      JSON.stringify({ packages: { 'node_modules/@ku0/agent-runtime-cli': { resolved } } }),
    )
  installed('https://packages.example/agent-runtime-cli-0.1.0.tgz')
  expect(installCommand(program)).toBe('npm install')
  installed('file:../packed/ku0-agent-runtime-cli-0.1.0.tgz')
  expect(installCommand(program)).toBe(`npm install ${join(folder, 'packed')}/*.tgz`)
})
