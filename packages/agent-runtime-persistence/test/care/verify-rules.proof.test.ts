import './verify-rules.test.ts'
