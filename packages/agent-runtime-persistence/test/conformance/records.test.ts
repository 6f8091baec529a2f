import { conformance } from './parts.ts'

conformance('records')
