// The part of OpenClaw's plugin API that is used here; the gateway's package is not a dependency.

export interface Logger {
  debug?(message: string): void;
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

export interface CommandContext {
  args?: string;
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

export type Handler = (event: any, ctx: any) => unknown;

export interface PluginApi {
  id: string;
  registrationMode?: string;
  config?: unknown;
  pluginConfig?: unknown;
  logger: Logger;
  runtime?: {
    state?: {
      resolveStateDir?(): string;
    };
  };
  resolvePath?(path: string): string;
  on(hook: string, handler: Handler, options?: { timeoutMs?: number; priority?: number }): void;
  registerCommand?(command: {
    name: string;
    description: string;
    acceptsArgs: boolean;
    handler(ctx: CommandContext): { text: string };
  }): void;
  registerTool?(factory: (ctx: ToolContext) => Tool[], options: { names: string[] }): void;
}
