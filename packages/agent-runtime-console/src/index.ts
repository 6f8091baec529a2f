/** @module @ku0/agent-runtime-console */

export { type ConsoleFile, consoleAssets } from './console-assets.ts'
