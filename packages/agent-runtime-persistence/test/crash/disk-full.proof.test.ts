import './disk-full.test.ts'
