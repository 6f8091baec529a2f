import './retention.test.ts'
