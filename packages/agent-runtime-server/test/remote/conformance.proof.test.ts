import { suiteOverLine } from './suite-over-line.ts'

suiteOverLine('SQLite over a line', { from: 2 })
