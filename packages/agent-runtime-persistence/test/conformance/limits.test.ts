import { conformance } from './parts.ts'

conformance('limits')
