/** @module @ku0/agent-runtime-server */

export { createServer, type Server } from './create-server.ts'
export { isReachedByOthers, type ListeningServer, serve, type ServeOptions } from './serve.ts'
export type { Served, ServerOptions } from './options.ts'
export type { ServerLimits } from './limits.ts'
export { type AcceptedTokens, hashToken } from './access/tokens.ts'
export { type Scope, scopes, type TokenOptions } from './access/token-options.ts'
export type { ReportFile, ReportSource } from './reports.ts'
export type { ConsoleAsset, ConsoleAssets } from './console-assets.ts'
export type { FieldProblem, ProblemBody } from './problem/problem.ts'
export type { ServerCode } from './problem/codes.ts'
export type { Surroundings } from './system.ts'
