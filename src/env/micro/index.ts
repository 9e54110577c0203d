export { usualChain } from './chain.ts';
export { drawMicroDocuments, fenceProgram } from './documents.ts';
export { exploitProgram } from './exploits.ts';
export { generateMicroProblems } from './problems.ts';
export { microTokenizer } from './tokenizer.ts';
