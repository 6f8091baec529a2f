import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { bin, edit, shell, storeOf } from './stores-and-shells.ts'

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
})
