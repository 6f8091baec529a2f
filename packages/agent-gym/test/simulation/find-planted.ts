// Searches for each planted bug the first seed whose simulated life shows it, and writes them to planted-seeds.json, which the long tests play.
// Run it when a change of the simulation has made them other lives:
//
//   pnpm --filter @ku0/agent-gym gym:find-planted
import { writeFileSync } from 'node:fs'
import { plants } from '../../src/simulation/plants.ts'
import { simulate } from '../../src/simulation/simulate.ts'
import { plantedRules } from './planted-rules.ts'

const last = 1_000
const seeds: Record<string, number> = {}
for (const [name, plant] of Object.entries(plants)) {
  const until = plantedRules[name] ?? ''
  for (let seed = 1; seeds[name] === undefined && seed <= last; seed += 1) {
    const { violations } = await simulate(seed, { plant, until })
    if (violations.some(({ rule }) => rule === until)) seeds[name] = seed
  }
  console.log(`${name}: ${seeds[name] ?? `not found in ${last} seeds`}`)
  if (seeds[name] === undefined) process.exitCode = 1
}
writeFileSync(new URL('./planted-seeds.json', import.meta.url), `${JSON.stringify(seeds, undefined, 2)}\n`)
