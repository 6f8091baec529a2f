#!/usr/bin/env node
// Plain JavaScript, so that an old Node gets as far as the message below.
const [major, minor] = process.versions.node.split('.').map(Number)
const supported = (major === 22 && minor >= 18) || major === 24 || major >= 26
if (supported) {
  await import('../src/bin/gym-promises.ts')
} else {
  console.error(`The gym needs Node 22.18 or later, 24, or 26 or later; this is ${process.version}.`)
  process.exitCode = 2
}
