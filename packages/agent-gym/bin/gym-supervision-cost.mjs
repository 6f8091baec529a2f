#!/usr/bin/env node
// Plain JavaScript, so that an old Node gets as far as the message below.
const major = Number(process.versions.node.split('.')[0])
// Node 22 has no `using`, of which the sources that are run here make use; what is published is without it.
if (major === 24 || major >= 26) {
  await import('../src/bin/gym-supervision-cost.ts')
} else {
  console.error(`The gym needs Node 24, or 26 or later; this is ${process.version}.`)
  process.exitCode = 2
}
