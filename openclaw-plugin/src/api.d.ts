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
  registerTool?(factory: (ctx: ToolContext) => Tool[], options: { names: string[] }): void;
}
