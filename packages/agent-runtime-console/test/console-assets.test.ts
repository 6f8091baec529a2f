import type { ConsoleAssets } from '@ku0/agent-runtime-server'
import { expect, test } from 'vitest'
import { consoleBuilt } from '../../../tools/console-build.ts'
import { consoleAssets } from '../src/index.ts'

test('the assets fit the slot of a server, and begin with a page', async () => {
  // They are not read while they are replaced.
  if (process.env['CONSOLE_BUILD'] !== undefined) await consoleBuilt()
  const assets: ConsoleAssets = await consoleAssets()
  expect(assets['/index.html']?.type).toBe('text/html; charset=utf-8')
  for (const [path, { type }] of Object.entries(assets)) {
    expect(path).toMatch(/^\/[\w.-]+$/)
    expect(type).not.toBe('application/octet-stream')
  }
})
