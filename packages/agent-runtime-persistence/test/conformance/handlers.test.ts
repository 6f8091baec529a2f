import { conformance } from './parts.ts'

conformance('handlers')
