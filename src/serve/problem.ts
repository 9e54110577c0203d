/** What a client is told when its request cannot be answered, in the form of OpenAI's API. */
export class RequestProblem extends Error {
  readonly status: number;
  readonly parameter: string | null;
  readonly code: string | null;

  constructor(status: number, message: string, parameter: string | null = null, code: string | null = null) {
    super(message);
    this.status = status;
    this.parameter = parameter;
    this.code = code;
  }

  /** The body of the answer. */
  get body(): string {
    const type = this.status >= 500 ? 'server_error' : 'invalid_request_error';
    const { message, parameter: param, code } = this;
    return `${JSON.stringify({ error: { message, type, param, code } })}\n`;
  }
}
