import { partitionCost } from '../bench/partition-cost.ts'
import { runCost } from './run-cost.ts'

await runCost(partitionCost)
