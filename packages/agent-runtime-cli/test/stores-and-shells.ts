import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '@ku0/agent-runtime-persistence'
import { expect, onTestFinished } from 'vitest'
import { type Outlet, runCommand } from '../src/index.ts'

export const bin = join(import.meta.dirname, '../bin/agent-runtime.mjs')

/** A folder that is gone when the test is. */
export function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'cli-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A closed store with so many tasks more. */
export async function storeOf(tasks: number, path = join(scratchFolder(), 'it.db')): Promise<string> {
  const store = await openStore(`sqlite:${path}`, { thread: false })
  for (let n = 0; n < tasks; n++)
    await store.write({
      kind: 'submit',
      tasks: [{ type: 'work', lane: 'normal', input: '1', idempotencyKey: `key ${n} of ${tasks}` }],
    })
  await store.close()
  return path
}

export const run = (...args: string[]) => runIn({}, ...args)

/** The same in other surroundings. Without variables of their own there are none. */
export async function runIn(
  { signal, ...outlet }: Partial<Outlet> & { readonly signal?: AbortSignal },
  ...args: string[]
) {
  const said = { out: '', err: '' }
  const streams = {
    out: (text: string) => void (said.out += text),
    err: (text: string) => void (said.err += text),
  }
  const code = await runCommand(args, { variables: {}, ...outlet, ...streams }, signal)
  return { code, ...said }
}

/** As a shell runs it. */
export const shell = (...args: string[]) => spawnSync(process.execPath, [bin, ...args], { encoding: 'utf8' })

/** Changes the bytes of one text in a file of the same length. */
function replaceIn(path: string, from: string, to: string): void {
  const bytes = readFileSync(path)
  const at = bytes.indexOf(from)
  expect(at).toBeGreaterThan(0)
  bytes.write(to, at)
  writeFileSync(path, bytes)
}

/** A byte of the last event's data: pages are in order, the text is found from the end. */
export function edit(path: string): void {
  replaceIn(path, '"type":"work"', '"type":"worx"')
}
