import { stepCost } from '../bench/step-cost.ts'
import { runCost } from './run-cost.ts'

await runCost(stepCost)
