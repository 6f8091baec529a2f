import { supervisionCost } from '../bench/supervision-cost.ts'
import { runCost } from './run-cost.ts'

await runCost(supervisionCost)
