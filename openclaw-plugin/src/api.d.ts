// The part of OpenClaw's plugin API that is used here; the gateway's package is not a dependency.

export interface Logger {
  debug?(message: string): void;
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

export interface CommandContext {
  args?: string;
  agentId?: string;
  senderId?: string;
  sessionKey?: string;
  sessionId?: string;
}

export interface ToolContext {
  agentId?: string;
  sessionKey?: string;
}

export interface Tool {
  name: string;
  label: string;
  description: string;
  parameters: object;
  execute(id: string, params: Record<string, unknown>, signal?: AbortSignal): Promise<ToolResult>;
}

export interface ToolResult {
  content: Array<{ type: "text"; text: string }>;
  details: unknown;
}

/** What a turn may do, while its prompt is built. */
export interface ToolAuthority {
  allows(tool: string): boolean;
}

/** An instruction, a criterion, or a state: a text or other JSON. */
export type DecisionEntry = string | null | readonly unknown[] | { readonly [key: string]: unknown };

export type DecisionQuestion =
  | { readonly type: "choice"; readonly instructions?: DecisionEntry; readonly criteria: Readonly<Record<string, DecisionEntry>> }
  | { readonly type: "score"; readonly instructions?: DecisionEntry; readonly criteria: readonly DecisionEntry[] }
  | { readonly type: "boolean"; readonly instructions?: DecisionEntry; readonly criteria?: { readonly true?: DecisionEntry; readonly false?: DecisionEntry } | null };

export interface DecisionBatch {
  readonly state: DecisionEntry;
  readonly questions: Readonly<Record<string, DecisionQuestion>>;
}

export interface DecisionContext {
  readonly model: string;
  readonly agentId?: string;
  readonly signal: AbortSignal;
  /** By performance.now(). */
  readonly deadlineMonotonicMs: number;
}

export type DecisionFailure = "transport" | "rate-limited" | "unsupported-input" | "invalid-response";

/** The gateway checks the answers. */
export type DecisionOutcome =
  | { readonly status: "ok"; readonly result: { readonly model: string; readonly answers: Readonly<Record<string, any>>; readonly usage?: { inputTokens: number; outputTokens: number } } }
  | { readonly status: "unavailable"; readonly reason: DecisionFailure };

export interface DecisionProvider {
  readonly id: string;
  readonly contractVersion: 1;
  isReady(): boolean;
  evaluate(batch: DecisionBatch, context: DecisionContext): Promise<DecisionOutcome>;
}

export type Handler = (event: any, ctx: any) => unknown;

export interface PluginApi {
  id: string;
  registrationMode?: string;
  config?: unknown;
  pluginConfig?: unknown;
  logger: Logger;
  runtime?: {
    agent?: {
      resolveAgentIdentity?(config: unknown, agent: string): unknown;
      session?: {
        getSessionEntry?(where: { sessionKey: string; agentId?: string }): unknown;
      };
    };
    config?: {
      current?(): unknown;
    };
    state?: {
      resolveStateDir?(): string;
    };
  };
  resolvePath?(path: string): string;
  on(hook: string, handler: Handler, options?: { timeoutMs?: number; priority?: number; requiresToolAuthority?: true }): void;
  registerCommand?(command: {
    name: string;
    nativeNames?: Record<string, string>;
    description: string;
    acceptsArgs: boolean;
    handler(ctx: CommandContext): { text: string };
  }): void;
  registerTextTransforms?(transforms: { input: Array<{ from: RegExp; to: string }> }): void;
  registerDecisionProvider?(provider: DecisionProvider): void;
  registerTool?(factory: (ctx: ToolContext) => Tool[], options: { names: string[] }): void;
}
