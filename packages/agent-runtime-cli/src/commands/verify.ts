import { verifyStore } from '@ku0/agent-runtime-persistence'
import { cliExitCodes } from '../exit-codes.ts'
import type { Command } from '../run-command.ts'
import { storeUrl } from '../store-argument.ts'
import { count, dated } from '../words.ts'

export const verify: Command = {
  usage: 'verify STORE',
  about: 'checks that a store holds what was written; may run while it is in use',
  positionals: 1,
  options: { 'max-faults': { type: 'string' } },
  help: ['--max-faults N     how many faults to list in full; default: 100'],
  run: async ({ positionals: [store = ''], values, signal }) => {
    const given = values['max-faults']
    const maxFaults = typeof given === 'string' ? { maxFaults: Number(given) } : {}
    const report = await verifyStore(storeUrl(store), { ...maxFaults, signal })
    const { ok, tasks, events, commits, faults, faultCount, lastGood, anchored } = report
    const end = lastGood.at === null ? 'none' : `${count(lastGood.commit)} of ${dated(lastGood.at)}`
    const noAnchor = faults.some(({ what }) => what === 'anchor') ? 'damaged' : 'none'
    return {
      exitCode: ok ? cliExitCodes.ok : cliExitCodes.damaged,
      report,
      lines: [
        ok
          ? `${store}: well`
          : `${store}: damaged, ${count(faultCount)} ${faultCount === 1 ? 'fault' : 'faults'}`,
        ...faults.map(
          ({ what, where, expected, actual }) => `  ${what}: ${where}: expected ${expected}, found ${actual}`,
        ),
        ...(faultCount > faults.length ? [`  and ${count(faultCount - faults.length)} more`] : []),
        `  tasks ${count(tasks)}, events ${count(events)}, commits ${count(commits)}`,
        `  last good commit: ${end}`,
        `  anchor: ${anchored === null ? noAnchor : `commit ${count(anchored)}`}`,
      ],
    }
  },
}
