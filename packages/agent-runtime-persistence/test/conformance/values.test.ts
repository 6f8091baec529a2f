import { conformance } from './parts.ts'

conformance('values')
