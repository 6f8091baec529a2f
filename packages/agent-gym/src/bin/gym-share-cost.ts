import { shareCost } from '../bench/share-cost.ts'
import { runCost } from './run-cost.ts'

await runCost(shareCost)
