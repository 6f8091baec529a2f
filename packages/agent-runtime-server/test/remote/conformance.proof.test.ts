import { suiteOverLine } from './suite-over-line.ts'

suiteOverLine('SQLite over a line', { fifth: 2 })
