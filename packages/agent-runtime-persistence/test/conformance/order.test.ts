import { conformance } from './parts.ts'

conformance('order')
