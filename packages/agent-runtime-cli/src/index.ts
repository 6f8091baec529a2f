export { cliExitCodes } from './exit-codes.ts'
export { runCommand, type Outlet } from './run-command.ts'
export { runProcess } from './run-process.ts'
