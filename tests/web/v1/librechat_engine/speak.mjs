// Speaks to an address by LibreChat's own engine, set up as LibreChat sets it up for a custom endpoint: a message that
// its tool is called for, a further one with the history, a title. It is run where the engine lies; what came is
// printed as JSON.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const here = createRequire(`${process.cwd()}/`);
const engine = createRequire(here.resolve("@librechat/agents"));
const from = async (name) => import(pathToFileURL(engine.resolve(name)).href);
const { Run, Providers, GraphEvents, ToolEndHandler, ModelEndHandler, TitleMethod } = await import(pathToFileURL(here.resolve("@librechat/agents")).href);
const { AIMessage, HumanMessage } = await from("@langchain/core/messages");
const { tool } = await from("@langchain/core/tools");

const [baseURL, apiKey, picture] = process.argv.slice(2);
const clientOptions = { model: "angelia", apiKey, user: "66f0c0ffee", streaming: true, streamUsage: true, configuration: { baseURL } };
const asked = [];
const weigh = tool(({ bed }) => (asked.push(bed), "31 kg"), {
  name: "weigh", description: "Weighs what a bed brought.", schema: { type: "object", properties: { bed: { type: "string" } }, required: ["bed"] },
});

const ask = async (id, messages, tools) => {
  let pieces = 0;
  const used = [];
  const run = await Run.create({
    runId: id, returnContent: true,
    graphConfig: { type: "standard", instructions: "You are a gardener.", tools, llmConfig: { provider: Providers.OPENAI, ...clientOptions } },
    customHandlers: {
      [GraphEvents.TOOL_END]: new ToolEndHandler(),
      [GraphEvents.CHAT_MODEL_END]: new ModelEndHandler(used),
      [GraphEvents.ON_MESSAGE_DELTA]: { handle: () => void pieces++ },
    },
  });
  const content = await run.processStream({ messages }, { runId: id, configurable: { thread_id: "garden", user_id: "ann" }, streamMode: "values", version: "v2" });
  return { run, content, pieces, used, messages: run.getRunMessages() };
};

const words = (content) => content.filter((part) => part.type === "text").map((part) => part.text).join("");
const question = new HumanMessage("Which bed brought most?");
const first = await ask("first", [question], [weigh]);
const looked = new HumanMessage({ content: [{ type: "text", text: "And this?" }, { type: "image_url", image_url: { url: picture, detail: "auto" } }] });
const second = await ask("second", [question, new AIMessage(words(first.content)), looked], []);
const { title } = await second.run.generateTitle({
  provider: Providers.OPENAI, inputText: "Which bed brought most?", contentParts: first.content, clientOptions: { ...clientOptions, streaming: false }, titleMethod: TitleMethod.COMPLETION,
  chainOptions: { configurable: { thread_id: "garden", user_id: "ann" } },
});
console.log(JSON.stringify({ weighed: asked, pieces: first.pieces, used: first.used, first: words(first.content), second: words(second.content), title }));
process.exit(0);
