/** The lab in a page: the trainer with the micro model, the embedded device and the interpreter, for bundlers that make code for browsers. */
export { type PromptAnswer, type Rates, ratesOf, type TabFiles, TabLab, type TabOptions } from '../browser/lab.ts';
export { type ManifestFrame, type Pieces, tarOf } from '../browser/record.ts';
