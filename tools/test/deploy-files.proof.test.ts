import { spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'

const folder = resolve(import.meta.dirname, '../../docs/deploy')
const canVerify = spawnSync('systemd-analyze', ['--version']).status === 0

describe('the files of docs/deploy.md', () => {
  test.skipIf(!canVerify)('systemd finds nothing wrong with its units', () => {
    const units = ['agent.service', 'agent-backup.service', 'agent-backup.timer'].map((file) =>
      join(folder, file),
    )
    const { stderr, status } = spawnSync('systemd-analyze', ['verify', ...units], { encoding: 'utf8' })
    // It may also say what it thinks of the units of the machine.
    const said = stderr.split('\n').filter((line) => /agent(-backup)?\./.test(line))
    expect({ status, said }).toEqual({ status: 0, said: [] })
  })
})
