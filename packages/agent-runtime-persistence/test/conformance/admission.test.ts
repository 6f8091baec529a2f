import { conformance } from './parts.ts'

conformance('admission')
