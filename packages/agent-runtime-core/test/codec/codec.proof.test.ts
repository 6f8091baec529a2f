import './codec.test.ts'
