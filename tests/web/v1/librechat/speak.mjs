// Speaks to an address as LibreChat does, which asks by this library: a streamed message, a further one with the
// history, and a title for them. It is run where the library lies; what came is printed as JSON.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const here = createRequire(`${process.cwd()}/`);
const from = async (name) => import(pathToFileURL(here.resolve(name)).href);
const { ChatOpenAI } = await from("@langchain/openai");
const { AIMessage, HumanMessage, SystemMessage } = await from("@langchain/core/messages");

const [baseURL, apiKey, picture] = process.argv.slice(2);
const common = { model: "angelia", apiKey, user: "66f0c0ffee", maxRetries: 0, configuration: { baseURL } };
const chat = new ChatOpenAI({ ...common, temperature: 1, topP: 1, frequencyPenalty: 0, presencePenalty: 0, streaming: true, streamUsage: true });

const ask = async (messages) => {
  let words = "", pieces = 0, usage = null;
  for await (const chunk of await chat.stream(messages)) {
    words += chunk.content;
    pieces += chunk.content ? 1 : 0;
    usage = chunk.usage_metadata ?? usage;
  }
  return { words, pieces, usage };
};

const told = new SystemMessage("You are a gardener."), asked = new HumanMessage("Which bed brought most?");
const first = await ask([told, asked]);
const looked = new HumanMessage({ content: [{ type: "text", text: "And this?" }, { type: "image_url", image_url: { url: picture, detail: "auto" } }] });
const second = await ask([told, asked, new AIMessage(first.words), looked]);
const title = await new ChatOpenAI({ ...common, temperature: 0.2, streaming: false }).invoke(
  `Write a title of five words or less for this conversation.\n\nUser: ${asked.content}\nAI: ${first.words}`,
);
console.log(JSON.stringify({ first, second, title: title.content }));
