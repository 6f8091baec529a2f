import { telemetryCost } from '../bench/telemetry-cost.ts'
import { runCost } from './run-cost.ts'

await runCost(telemetryCost)
