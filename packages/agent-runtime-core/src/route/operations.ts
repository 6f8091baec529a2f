import { observeRoute } from './observe.ts'
import { noNeeds } from '../transition/needs.ts'
import type { Operations } from '../transition/operation.ts'
import type { RouteWrites } from './port.ts'

export const routeOperations: Operations<RouteWrites> = {
  observeRoute: { rank: 3, needs: noNeeds, fold: observeRoute },
}
