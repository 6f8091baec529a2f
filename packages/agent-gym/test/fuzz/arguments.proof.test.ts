import './arguments.test.ts'
