/** @module @ku0/agent-runtime/gateway */

export { AgentRunFailed, GatewayRefused, GatewayUnreachable } from './errors.ts'
export type {
  Gateway,
  GatewayEvent,
  GatewayRequest,
  GatewayResult,
  GatewayRunOptions,
  GatewaySession,
} from './gateway.ts'
export { gatewayTask, type GatewayTaskInput, type GatewayTaskOptions } from './gateway-task.ts'
export { gateway, type HttpGatewayOptions } from './http-gateway.ts'
export { inProcessGateway, type InProcessAgent, type InProcessRun } from './in-process.ts'
export { runAgent, type AgentRun } from './run-agent.ts'
