import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { chattyProcess, run } from './chatty-scene.ts'

describe('standard error is a pipe', () => {
  test('the process of a logger whose reader has gone goes on, and counts its lines', async () => {
    const child = chattyProcess()
    child.stderr?.destroy()
    expect(await run(child)).toBeGreaterThan(9_000)
    expect(await run(child)).toBeGreaterThan(19_000)
    child.disconnect()
    expect(await once(child, 'exit')).toEqual([0, null])
  })

  test('that is read: no line is lost', async () => {
    const child = chattyProcess()
    let text = ''
    child.stderr?.on('data', (chunk) => (text += String(chunk)))
    const dropped = await run(child)
    child.send('finish')
    await once(child.stderr ?? child, 'end')
    expect(dropped + text.split('\n').length - 1).toBe(10_000)
  })
})
