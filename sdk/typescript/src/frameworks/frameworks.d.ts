// The frameworks are not installed where this package is built, so the adapters are compiled there with these stand-ins. Their real types are held
// against the adapters where they are installed: frameworks/*/run.
declare module "ai" {
  export type Agent<A, B, C, D> = any;
  export type GenerateTextOnEndCallback<A, B> = (event: any) => any;
  export type ModelMessage = any;
  export type PrepareStepFunction<A, B> = (step: any) => any;
  export type StepResult<A, B> = any;
  export type ToolSet = any;
  export function jsonSchema<T>(schema: object): any;
  export function tool(tool: object): any;
}
declare module "langchain" {
  export type AgentMiddleware = any;
  export function createMiddleware(middleware: object): any;
}
declare module "@langchain/core/messages" {
  export type BaseMessage = any;
  export const HumanMessage: any;
}
declare module "@langchain/core/tools" {
  export type DynamicStructuredTool = any;
  export type ToolRunnableConfig = any;
  export const DynamicStructuredTool: any;
}
declare module "@langchain/langgraph" {
  export const Command: any;
  export function interrupt<Value, Answer>(value: Value): Answer;
}
declare module "@mastra/core/agent" {
  export type Agent<A, B, C> = any;
}
declare module "@mastra/core/processors" {
  export type InputProcessor = { id: string; processInputStep(args: any): any };
  export type ProcessInputStepArgs = any;
}
declare module "@mastra/core/tools" {
  export type Tool<A, B> = any;
  export function createTool(tool: object): any;
}
declare module "@mastra/core/request-context" {
  export const RequestContext: any;
}
