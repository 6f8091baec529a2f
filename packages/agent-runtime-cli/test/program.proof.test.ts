import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { bin, edit, scratchFolder, shell, storeOf } from './stores-and-shells.ts'

describe('the program', () => {
  test('says how it is called, and its version', () => {
    const help = shell('--help')
    expect([help.status, help.stderr]).toEqual([0, ''])
    for (const name of ['verify [options] [store]', 'submit [options] <type> [input]', 'list [options]'])
      expect(help.stdout).toContain(name)
    expect(shell('verify', '--help').stdout).toContain('--max-faults')
    expect(shell('--version').stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  test('G12 exits as its command does', async () => {
    const path = await storeOf(1)
    expect(shell('verify', path)).toMatchObject({ status: 0, stderr: '' })
    edit(path)
    expect(shell('verify', path)).toMatchObject({ status: 65, stderr: '' })
    expect(shell('verify', `${path}x`)).toMatchObject({ status: 66, stdout: '' })
    expect(shell()).toMatchObject({ status: 2, stdout: '' })
  })

  test('G12 is quiet when nobody reads on', async () => {
    const path = await storeOf(1)
    const child = spawn(process.execPath, [bin, 'doctor', path], { stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.destroy()
    const errors: Buffer[] = []
    child.stderr.on('data', (data: Buffer) => errors.push(data))
    const [code] = (await once(child, 'close')) as [number | null]
    expect([code, Buffer.concat(errors).toString()]).toEqual([0, ''])
  })

  test.skipIf(!existsSync('/dev/full'))('says in one line that its answer cannot be written', async () => {
    const path = await storeOf(1)
    const full = openSync('/dev/full', 'w')
    onTestFinished(() => closeSync(full))
    const { status, stderr } = spawnSync(process.execPath, [bin, 'list', '--store', path], {
      encoding: 'utf8',
      stdio: ['ignore', full, 'pipe'],
    })
    expect([status, stderr]).toEqual([
      74,
      'agent-runtime: standard output cannot be written: ENOSPC: no space left on device, write\n',
    ])
  })

  test('a worker whose module exports nothing ends, although the module keeps the process open', () => {
    const module = join(scratchFolder(), 'open.mjs')
    writeFileSync(module, 'setInterval(() => undefined, 1_000)\nexport const nothing = 1\n')
    const { status, stderr } = spawnSync(process.execPath, [bin, 'worker', module], {
      encoding: 'utf8',
      timeout: 200_000,
      killSignal: 'SIGKILL',
    })
    expect([status, stderr]).toEqual([2, expect.stringContaining('exports no task type') as string])
  })

  test('a module with a typing error is said with its line, also in a file that it imports', () => {
    const folder = scratchFolder()
    const module = join(folder, 'tasks.ts')
    writeFileSync(module, "import './other.ts'\n")
    writeFileSync(join(folder, 'other.ts'), 'export const a = 1\nexport const b = ;\n')
    const { status, stderr } = shell('worker', module)
    expect([status, stderr]).toEqual([
      2,
      `agent-runtime: ${module} could not be loaded: Expression expected (${join(folder, 'other.ts')}:2)\n`,
    ])
  })

  test('G12 a backup that is ended by a signal leaves nothing, and exits with 128 and its number', async () => {
    const path = await storeOf(1)
    const db = new Database(path)
    db.exec('CREATE TABLE mine (data)')
    const insert = db.prepare('INSERT INTO mine VALUES (zeroblob(1000000))')
    for (let n = 0; n < 80; n++) insert.run()
    db.close()
    const folder = join(path, '..')
    const child = spawn(process.execPath, [bin, 'backup', path, `${path}.copy`], { stdio: 'ignore' })
    while (!readdirSync(folder).some((name) => name.endsWith('.partial'))) await new Promise(setImmediate)
    child.kill('SIGTERM')
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
    expect([code, signal]).toEqual([143, null])
    expect(readdirSync(folder).filter((name) => name.includes('.copy'))).toEqual([])
  })
})
