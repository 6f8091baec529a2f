import './looking-and-acting.test.ts'
