import './verify.test.ts'
