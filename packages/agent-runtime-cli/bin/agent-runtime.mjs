#!/usr/bin/env node
// Plain JavaScript, so that an old Node gets as far as the message below.
import * as loader from 'node:module'

const [major, minor] = process.versions.node.split('.').map(Number)
if ((major === 22 && minor >= 18) || major === 24 || major >= 26) {
  // The second start finds the compiled code of the first: half the time of a short command goes there.
  loader.enableCompileCache?.()
  const { runProcess } = await import('@ku0/agent-runtime-cli')
  await runProcess()
} else {
  console.error(
    `agent-runtime needs Node 22.18, 24, or 26 or later; this is ${process.version}. npm install --save-dev node@26 gives this project one, and npx then uses it.`,
  )
  process.exitCode = 78
}
